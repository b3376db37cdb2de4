internal import Glibc
internal import SystemSupport

/// An open file, which is closed with the last reference. Every call may block.
final class Descriptor: Sendable {
    private let number: Int32
    private let path: String

    init(_ path: String, _ flags: Int32) throws(TeachingError) {
        self.path = path
        // Only this user may read it: it holds embeddings of people's pictures.
        number = open(path, flags, 0o600)
        guard number >= 0 else { throw Self.failure("open", path, errno) }
    }

    deinit { close(number) }

    func size() throws(TeachingError) -> Int {
        var status = stat()
        guard fstat(number, &status) == 0 else { throw failure("look at") }
        return Int(status.st_size)
    }

    /// Reads `count` bytes; fewer only at the end of the file.
    func read(_ count: Int) throws(TeachingError) -> [UInt8] {
        var error: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let result = Glibc.read(number, buffer.baseAddress.map { $0 + filled }, count - filled)
                if result < 0, errno == EINTR { continue }
                if result < 0 { error = errno }
                guard result > 0 else { return }
                filled += result
            }
        }
        guard error == 0 else { throw Self.failure("read", path, error) }
        return bytes
    }

    func write(_ bytes: [UInt8]) throws(TeachingError) {
        var error: Int32 = 0
        bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count {
                let result = Glibc.write(number, buffer.baseAddress.map { $0 + done }, buffer.count - done)
                if result < 0, errno == EINTR { continue }
                guard result > 0 else {
                    error = result < 0 ? errno : EIO
                    return
                }
                done += result
            }
        }
        guard error == 0 else { throw Self.failure("write", path, error) }
    }

    func seek(_ offset: Int) throws(TeachingError) {
        guard lseek(number, off_t(offset), SEEK_SET) == off_t(offset) else { throw failure("write") }
    }

    func truncate(_ length: Int) throws(TeachingError) {
        guard ftruncate(number, off_t(length)) == 0 else { throw failure("shorten") }
    }

    /// Truncates the file at the end of the last write.
    func truncate() throws(TeachingError) {
        let end = lseek(number, 0, SEEK_CUR)
        guard end >= 0 else { throw failure("shorten") }
        try truncate(Int(end))
    }

    /// Reserves disk space for the first `length` bytes of the file, and sets its size to `length`.
    func allocate(_ length: Int) throws(TeachingError) {
        var error: Int32
        repeat { error = posix_fallocate(number, 0, off_t(length)) } while error == EINTR
        guard error == 0 else { throw Self.failure("take room for", path, error) }
        try truncate(length)
    }

    /// Returns when the data is on the disk.
    func sync() throws(TeachingError) {
        let error = DiskSync.file(number)
        guard error == 0 else { throw Self.failure("sync", path, error) }
    }

    /// Locks the file for this process. Returns false if another process has locked it.
    func lock() -> Bool { flock(number, LOCK_EX | LOCK_NB) == 0 }

    /// The error for a damaged file.
    func damage(at place: Int) -> TeachingError {
        .storage("\(path) is damaged at byte \(place): restore it from a copy, or delete the taught model")
    }

    private func failure(_ verb: String) -> TeachingError { Self.failure(verb, path, errno) }

    /// The error of a failed call. A full disk has an error of its own, because an operator can free space.
    static func failure(_ verb: String, _ path: String, _ number: Int32) -> TeachingError {
        let text = "cannot \(verb) \(path): \(SystemError.text(number))"
        guard [ENOSPC, EDQUOT, EFBIG].contains(number) else { return .storage(text) }
        return .full(text + ": make room on the disk of `taught_dir`, or forget examples; nothing was changed")
    }
}

/// Functions for the folders of taught models.
enum Folders {
    static func create(_ path: String) throws(TeachingError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw Descriptor.failure("create", path, errno) }
    }

    /// Renames a file and syncs the folder, so that the new name survives a power failure.
    static func rename(_ from: String, _ to: String, syncs: Bool = true) throws(TeachingError) {
        guard Glibc.rename(from, to) == 0 else { throw Descriptor.failure("rename \(from) to", to, errno) }
        if syncs { try sync(FilePath.parent(of: to)) }
    }

    static func sync(_ path: String) throws(TeachingError) {
        try Descriptor(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC).sync()
    }

    static func names(in path: String) throws(TeachingError) -> [String] {
        do throws(SystemError) {
            return try FolderNames.read(path).sorted()
        } catch {
            throw Descriptor.failure("read", path, error.number)
        }
    }

    /// The total size of the files in a folder, including its subfolders.
    static func bytes(in path: String) -> Int {
        var status = stat()
        guard lstat(path, &status) == 0 else { return 0 }
        guard status.st_mode & S_IFMT == S_IFDIR else { return Int(status.st_size) }
        return ((try? names(in: path)) ?? []).reduce(0) { $0 + bytes(in: path + "/" + $1) }
    }

    /// Removes a folder with its contents, or a file.
    static func remove(_ path: String) throws(TeachingError) {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            guard errno == ENOENT else { throw Descriptor.failure("look at", path, errno) }
            return
        }
        if status.st_mode & S_IFMT == S_IFDIR {
            for name in try names(in: path) { try remove(path + "/" + name) }
            guard rmdir(path) == 0 else { throw Descriptor.failure("remove", path, errno) }
        } else {
            guard unlink(path) == 0 else { throw Descriptor.failure("remove", path, errno) }
        }
    }
}
