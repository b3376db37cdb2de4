internal import Glibc

/// Waits until data is on the disk. Every call blocks, and is repeated after a signal (EINTR), which some file systems
/// report although nothing failed.
package enum DiskSync {
    /// Returns when a file's data is on the disk: 0, or an errno(3).
    package static func file(_ descriptor: Int32) -> Int32 { repeated { fsync(descriptor) } }

    /// Returns when the names in a folder are on the disk, or the file system has no such call (EINVAL): 0, or an
    /// errno(3).
    package static func folder(_ path: String) -> Int32 {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        let code = file(descriptor)
        return code == EINVAL ? 0 : code
    }

    private static func repeated(_ call: () -> Int32) -> Int32 {
        while call() != 0 {
            let code = errno
            guard code == EINTR else { return code }
        }
        return 0
    }
}
