internal import Glibc
internal import SystemSupport

/// An open file, closed with the last reference. Every call may block.
final class Descriptor: Sendable {
    private let number: Int32
    private let path: String

    init(_ path: String, _ flags: Int32) throws(TeachingError) {
        self.path = path
        // Embeddings of people's pictures: nobody else reads them.
        number = open(path, flags, 0o600)
        guard number >= 0 else { throw Self.failure("open", path, errno) }
    }

    deinit { close(number) }

    func size() throws(TeachingError) -> Int {
        var status = stat()
        guard fstat(number, &status) == 0 else { throw failure("look at") }
        return Int(status.st_size)
    }

    /// Up to `count` bytes: fewer at the end only.
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

    /// Ends the file where the last write ended.
    func truncate() throws(TeachingError) {
        let end = lseek(number, 0, SEEK_CUR)
        guard end >= 0 else { throw failure("shorten") }
        try truncate(Int(end))
    }

    /// Takes disk space for the first bytes of the file, which has this length then.
    func allocate(_ length: Int) throws(TeachingError) {
        let error = posix_fallocate(number, 0, off_t(length))
        guard error == 0 else { throw Self.failure("take room for", path, error) }
        try truncate(length)
    }

    /// Returns when the disk has it.
    func sync() throws(TeachingError) {
        guard fsync(number) == 0 else { throw failure("sync") }
    }

    /// Takes the file for this process; false if another has it.
    func lock() -> Bool { flock(number, LOCK_EX | LOCK_NB) == 0 }

    /// The error of a file that is not as it was written.
    func damage(at place: Int) -> TeachingError {
        .storage("\(path) is damaged at byte \(place): restore it from a copy, or delete the taught model")
    }

    private func failure(_ verb: String) -> TeachingError { Self.failure(verb, path, errno) }

    /// A full disk has its own error: an operator can free space.
    static func failure(_ verb: String, _ path: String, _ number: Int32) -> TeachingError {
        let text = "cannot \(verb) \(path): \(SystemError.text(number))"
        guard [ENOSPC, EDQUOT, EFBIG].contains(number) else { return .storage(text) }
        return .full(text + ": make room on the disk of `taught_dir`, or forget examples; nothing was changed")
    }
}

/// Folders of taught models.
enum Folders {
    static func create(_ path: String) throws(TeachingError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw Descriptor.failure("create", path, errno) }
    }

    /// Renames and syncs the folder, so that the new name survives a power failure.
    static func rename(_ from: String, _ to: String, syncs: Bool = true) throws(TeachingError) {
        guard Glibc.rename(from, to) == 0 else { throw Descriptor.failure("rename \(from) to", to, errno) }
        if syncs { try sync(parent(of: to)) }
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

    /// The sizes of the files in a folder and its folders.
    static func bytes(in path: String) -> Int {
        var status = stat()
        guard lstat(path, &status) == 0 else { return 0 }
        guard status.st_mode & S_IFMT == S_IFDIR else { return Int(status.st_size) }
        return ((try? names(in: path)) ?? []).reduce(0) { $0 + bytes(in: path + "/" + $1) }
    }

    /// Removes a folder with all that is in it.
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

    static func parent(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}
