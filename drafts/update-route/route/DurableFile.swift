internal import FoundationEssentials
internal import Glibc

/// Files that are there after a power failure.
enum DurableFile {
    struct Failure: Error {
        let path: String
        let code: Int32

        /// The disk, or the user's part of it, is full.
        var isFull: Bool { code == ENOSPC || code == EDQUOT }
        var reason: String { "\(path): \(String(cString: strerror(code)))" }
    }

    /// Writes a new file, and waits until the disk has it. Blocks.
    static func write(_ bytes: [UInt8], to path: String) throws(Failure) {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw Failure(path: path, code: errno) }
        defer { close(file) }
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress?.advanced(by: done), $0.count - done) }
            guard count > 0 || count < 0 && errno == EINTR else { throw Failure(path: path, code: errno) }
            done += max(0, count)
        }
        guard fsync(file) == 0 else { throw Failure(path: path, code: errno) }
    }

    /// Waits until the disk has all files of a folder, and the folder. Blocks.
    static func syncAll(below folder: String) throws(Failure) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            try sync(folder + "/" + name)
        }
        try sync(folder)
    }

    /// Renames a folder, and waits until the disk knows. Blocks.
    static func rename(_ path: String, to target: String) throws(Failure) {
        guard Glibc.rename(path, target) == 0 else { throw Failure(path: target, code: errno) }
        try sync(String(target[..<(target.lastIndex(of: "/") ?? target.endIndex)]))
    }

    private static func sync(_ path: String) throws(Failure) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw Failure(path: path, code: errno) }
        defer { close(file) }
        guard fsync(file) == 0 else { throw Failure(path: path, code: errno) }
    }
}
