internal import CSystem
internal import FoundationEssentials
internal import Glibc
internal import SystemSupport

/// The work folder of a pull, next to its destination, held by a lock that ends with the process. Files that an earlier
/// pull has received stay in it.
///
/// ```
/// .NAME.ocelli-pull/DIGEST     a file that is being received
/// .NAME.ocelli-pull/content/   the folder when all files are complete; it is exchanged with NAME
/// ```
final class PullFolder {
    /// The destination.
    let path: String
    private let models: String
    /// Its name begins with a dot: `ocelli serve` ignores it.
    private let work: String
    private let descriptor: Int32
    private var content: String { work + "/content" }

    /// A file of the folder, and its bytes in the work folder.
    struct Entry {
        /// In the destination.
        let path: String
        let partName: String

        /// - Parameter identity: what distinguishes these contents from others of the same path.
        init(path: String, identity: String) {
            self.path = path
            partName = SHA256.text(SHA256.digest(Array((path + "\0" + identity).utf8)))
        }
    }

    /// Creates the folders and takes the lock. Blocks, until another pull of the name has ended.
    /// - Parameter waiting: called if there is another.
    init(models: String, name: String, waiting: () -> Void) throws(CommandError) {
        self.models = models
        path = models + "/" + name
        work = "\(models)/.\(name).ocelli-pull"
        try OutputFile.makeFolder(models)
        var hasWaited = false
        while true {
            guard mkdir(work, 0o700) == 0 || errno == EEXIST else { throw Self.unwritable(work, errno) }
            let opened = open(work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard opened >= 0 else {
                if errno == ENOENT { continue }
                throw CommandError(
                    "\(work) is in the way: it is not a folder that pull made (\(SystemError.words(errno)))")
            }
            var status = stat()
            guard fstat(opened, &status) == 0, status.st_uid == geteuid() else {
                _ = csys_close(opened)
                throw CommandError("\(work) is in the way: another user owns it")
            }
            if flock(opened, LOCK_EX | LOCK_NB) != 0 {
                if errno == EWOULDBLOCK, !hasWaited { waiting() }
                hasWaited = true
                while flock(opened, LOCK_EX) != 0 {
                    guard errno == EINTR else {
                        let code = errno
                        _ = csys_close(opened)
                        throw CommandError("\(work) cannot be locked: \(SystemError.words(code))")
                    }
                }
            }
            // The other pull has removed its folder at its end.
            var now = stat()
            if lstat(work, &now) == 0, now.st_ino == status.st_ino, now.st_dev == status.st_dev {
                descriptor = opened
                return
            }
            _ = csys_close(opened)
        }
    }

    deinit { _ = csys_close(descriptor) }

    private static func unwritable(_ path: String, _ code: Int32) -> CommandError {
        CommandError("\(path) cannot be written: \(SystemError.words(code))")
    }

    // MARK: Files that are being received

    /// Keeps what an earlier pull has received of these files, and removes the rest. Blocks.
    func keep(_ entries: [Entry]) {
        for entry in entries {
            // An earlier pull was interrupted while it moved complete files.
            let moved = content + "/" + entry.path
            var status = stat()
            if lstat(moved, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
                rename(moved, work + "/" + entry.partName)
            }
        }
        let kept = Set(entries.map(\.partName))
        for name in (try? FolderNames.read(work)) ?? [] where !kept.contains(name) { remove(name) }
    }

    private func remove(_ name: String) { try? FileManager.default.removeItem(atPath: work + "/" + name) }

    /// Opens the bytes of a file. Blocks.
    func part(_ entry: Entry, size: Int, stated: StatedDigest?) throws(CommandError) -> PartFile {
        do throws(CommandError) {
            return try PartFile(folder: descriptor, name: entry.partName, size: size, stated: stated)
        } catch {
            throw CommandError("\(entry.path) \(error)")
        }
    }

    /// Drops the bytes of a file.
    func drop(_ entry: Entry) { _ = unlinkat(descriptor, entry.partName, 0) }

    /// The path of the bytes of a file.
    func partPath(_ entry: Entry) -> String { work + "/" + entry.partName }

    /// The bytes on disk of a file.
    func received(_ entry: Entry) -> Int {
        var status = stat()
        return fstatat(descriptor, entry.partName, &status, AT_SYMLINK_NOFOLLOW) == 0
            && status.st_mode & S_IFMT == S_IFREG
            ? Int(status.st_size) : 0
    }

    /// The free bytes of the file system for this user; nil if they are not known.
    var freeBytes: Int? {
        var status = statvfs()
        guard fstatvfs(descriptor, &status) == 0, status.f_frsize > 0 else { return nil }
        let (bytes, isTooLarge) = Int(clamping: status.f_bavail).multipliedReportingOverflow(
            by: Int(clamping: status.f_frsize))
        return isTooLarge ? nil : bytes
    }

    // MARK: The end

    /// Makes the destination of complete files: at each instant it is the old folder or the new one, except on file
    /// systems that cannot exchange two folders, where it is absent for an instant. Blocks.
    func place(_ entries: [Entry], record: [UInt8], recordName: String) throws(CommandError) {
        remove("content")
        guard mkdir(content, 0o777) == 0 else { throw Self.unwritable(content, errno) }
        var folders: Set<String> = [content]
        for entry in entries {
            let folder = HubPath.folder(of: entry.path)
            if !folder.isEmpty {
                try OutputFile.makeFolder(content + "/" + folder)
                var above = folder
                while !above.isEmpty {
                    folders.insert(content + "/" + above)
                    above = HubPath.folder(of: above)
                }
            }
            guard rename(partPath(entry), content + "/" + entry.path) == 0 else {
                throw Self.unwritable(entry.path, errno)
            }
        }
        try OutputFile.replace(content + "/" + recordName, with: record)
        for folder in folders { try Self.sync(folder) }
        try exchange()
        try Self.sync(models)
    }

    private static func sync(_ folder: String) throws(CommandError) {
        let code = DiskSync.folder(folder)
        guard code == 0 else { throw unwritable(folder, code) }
    }

    private func exchange() throws(CommandError) {
        let result = csys_rename_new(content, path)
        if result == 0 || result == -EEXIST && csys_exchange(content, path) == 0 { return }
        // A file system without these, such as NFS.
        try BundleOutput.move(content, to: path, keepingAs: work + "/replaced")
    }

    /// Removes the work folder, with the replaced folder in it.
    func clear() { try? FileManager.default.removeItem(atPath: work) }

    /// Removes the work folder if nothing was received.
    func clearIfEmpty() { rmdir(work) }
}
