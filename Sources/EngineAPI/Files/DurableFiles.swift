internal import Glibc
internal import SystemSupport

/// Writes files that survive a power failure. Every call blocks.
package enum DurableFiles {
    /// Creates a folder and its missing parents. Only this user may access them.
    package static func create(folder path: String) throws(FileFailure) {
        guard mkdir(path, 0o700) != 0, errno != EEXIST else { return }
        guard errno == ENOENT, path.dropFirst().contains("/") else { throw FileFailure(code: errno) }
        try create(folder: FilePath.parent(of: path))
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw FileFailure(code: errno) }
    }

    /// Writes a new file, and returns when it is on disk.
    package static func write(_ bytes: [UInt8], to path: String) throws(FileFailure) {
        let file = try NewFile(path)
        try bytes.withUnsafeBytes { bytes -> Result<Void, FileFailure> in
            Result { () throws(FileFailure) in try file.write(bytes) }
        }.get()
        try file.sync()
    }

    /// Copies a file in parts, following links.
    package static func copy(_ path: String, to target: String) throws(FileFailure) {
        let source = try OpenFile(path)
        let file = try NewFile(target)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = try source.next(buffer)
            guard count > 0 else { break }
            try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
        try file.sync()
    }

    /// Returns when the names in a folder are on disk.
    package static func sync(folder path: String) throws(FileFailure) {
        let code = DiskSync.folder(path)
        guard code == 0 else { throw FileFailure(code: code) }
    }

    /// Renames a file, and returns when the change is on disk.
    package static func rename(_ path: String, to target: String) throws(FileFailure) {
        guard Glibc.rename(path, target) == 0 else { throw FileFailure(code: errno) }
        try sync(folder: FilePath.parent(of: target))
    }

    private final class NewFile {
        private let number: Int32

        init(_ path: String) throws(FileFailure) {
            number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard number >= 0 else { throw FileFailure(code: errno) }
        }

        deinit { close(number) }

        func write(_ bytes: UnsafeRawBufferPointer) throws(FileFailure) {
            var done = 0
            while done < bytes.count {
                let count = Glibc.write(number, bytes.baseAddress.map { $0 + done }, bytes.count - done)
                guard count > 0 || count < 0 && errno == EINTR else { throw FileFailure(code: count < 0 ? errno : EIO) }
                done += max(0, count)
            }
        }

        func sync() throws(FileFailure) {
            let code = DiskSync.file(number)
            guard code == 0 else { throw FileFailure(code: code) }
        }
    }
}
