internal import Glibc
internal import SystemSupport

/// The folder of kept pictures, which only one process may use at a time: for each a file with its bytes, named by its
/// digest, and a file with its record. Every call blocks.
///
/// A picture is kept as soon as it has a record. Files are written under another name first, so a kill leaves at most
/// files that the next start removes.
final class KeptFiles: Sendable {
    private static let lockName = ".ocelli-kept", unfinished = ".new", recordEnding = ".json"

    let folder: String
    /// The lock file, open as long as the object: its lock excludes other processes.
    private let lock: Int32

    /// Opens a folder, and creates it if necessary.
    init(folder: String) throws(KeepingError) {
        self.folder = folder
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw KeepingError("create", folder, errno) }
        let path = FilePath.start(inside: folder) + Self.lockName
        // Files that look like unfinished ones are removed: never those of another owner.
        if access(path, F_OK) != 0, try Self.names(in: folder).contains(where: { $0 != "lost+found" }) {
            throw KeepingError("\(folder) is not empty and has no kept pictures: name an empty or a new folder")
        }
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw KeepingError("open", path, errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw KeepingError("\(folder) is in use by another process: two daemons cannot share a `keep_dir`")
        }
        lock = descriptor
    }

    deinit { close(lock) }

    private func path(_ id: String) -> String { FilePath.start(inside: folder) + id }

    private static func names(in folder: String) throws(KeepingError) -> [String] {
        do throws(SystemError) {
            return try FolderNames.read(folder)
        } catch {
            throw KeepingError("read", folder, error.number)
        }
    }

    // MARK: Start

    /// The pictures in the folder; removes files that a kill left, and damaged ones. Other files stay.
    /// - Returns: the pictures, and the number of damaged ones that were removed.
    func load() throws(KeepingError) -> (pictures: [KeptPicture], damaged: Int) {
        var pictures: [KeptPicture] = [], damaged = 0
        for name in try Self.names(in: folder) {
            guard let id = KeptPicture.id(name.prefix(64)), name.hasPrefix(id) else { continue }
            switch name.dropFirst(64) {
            case Self.unfinished, Self.recordEnding + Self.unfinished: unlink(path(name))
            case Self.recordEnding:
                let record = Self.read(path(name), atMost: KeptPicture.maximumRecord)
                if let record, let picture = KeptPicture(id: id, record: record), size(of: id) == picture.bytes {
                    pictures.append(picture)
                } else {
                    damaged += 1
                    try remove(id)
                }
            // The kill came before the record.
            case "" where access(path(id) + Self.recordEnding, F_OK) != 0: unlink(path(id))
            default: break
            }
        }
        return (pictures, damaged)
    }

    /// The size of a picture's file; nil if it is no regular file.
    private func size(of id: String) -> Int? {
        var status = stat()
        guard lstat(path(id), &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    // MARK: Changes

    /// Writes a picture and its record.
    func write(_ picture: KeptPicture, _ bytes: [UInt8]) throws(KeepingError) {
        do throws(KeepingError) {
            try write(bytes, to: path(picture.id))
            try write(picture.record, to: path(picture.id) + Self.recordEnding)
            try sync()
        } catch {
            try? remove(picture.id)
            throw error
        }
    }

    /// Replaces the record of a picture.
    func rewriteRecord(_ picture: KeptPicture) throws(KeepingError) {
        try write(picture.record, to: path(picture.id) + Self.recordEnding)
        try sync()
    }

    /// Removes a picture and its record; missing files count as removed. ``sync()`` makes it last.
    func remove(_ id: String) throws(KeepingError) {
        // Without the record the picture is not kept, even if the next step fails.
        for ending in [Self.recordEnding, "", Self.unfinished, Self.recordEnding + Self.unfinished] {
            let path = path(id) + ending
            guard unlink(path) == 0 || errno == ENOENT else { throw KeepingError("remove", path, errno) }
        }
    }

    /// Returns when removed and new names are on the disk.
    func sync() throws(KeepingError) {
        let code = DiskSync.folder(folder)
        guard code == 0 else { throw KeepingError("sync", folder, code) }
    }

    /// Writes a file under another name, and renames it when it is on the disk.
    private func write(_ bytes: [UInt8], to path: String) throws(KeepingError) {
        let new = path + Self.unfinished
        unlink(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw KeepingError("create", new, errno) }
        defer { close(descriptor) }
        var error: Int32 = 0
        bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count {
                let result = Glibc.write(descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done)
                if result < 0, errno == EINTR { continue }
                guard result > 0 else {
                    error = result < 0 ? errno : EIO
                    return
                }
                done += result
            }
        }
        if error == 0 { error = DiskSync.file(descriptor) }
        if error == 0, rename(new, path) != 0 { error = errno }
        guard error == 0 else {
            unlink(new)
            throw KeepingError("write", path, error)
        }
    }

    // MARK: Reading

    /// The bytes of a picture; nil if they cannot be read, or are not those of its digest.
    func read(_ picture: KeptPicture) -> [UInt8]? {
        guard let bytes = Self.read(path(picture.id), atMost: picture.bytes),
            SHA256.text(SHA256.digest(bytes)) == picture.id
        else { return nil }
        return bytes
    }

    /// The content of a regular file; nil if it cannot be read, or is larger.
    private static func read(_ path: String, atMost maximum: Int) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int(status.st_size) <= maximum
        else { return nil }
        let size = Int(status.st_size)
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
            while filled < size {
                let result = Glibc.read(descriptor, buffer.baseAddress.map { $0 + filled }, size - filled)
                if result < 0, errno == EINTR { continue }
                guard result > 0 else { return }
                filled += result
            }
        }
        return bytes.count == size ? bytes : nil
    }
}
