internal import Glibc
internal import SystemSupport

/// The places that links in a bundle may point to. Without a limit, a link to `/etc/passwd` named `labels.txt` would be
/// served.
public enum LinkPolicy: Sendable, Hashable {
    /// No limit.
    case anywhere
    /// Within these folders: allows a ConfigMap's `..data`, or a file that several bundles share.
    case within([String])

    /// True if the file, with links resolved, is in an allowed place. A file that does not exist is allowed. Blocks.
    package func allows(_ path: String) -> Bool {
        guard case .within(let folders) = self, let place = Self.place(of: path) else { return true }
        return folders.contains { folder in
            guard let root = Self.place(of: folder) else { return false }
            return place == root || place.hasPrefix(root == "/" ? root : root + "/")
        }
    }

    /// The policy for one model. An entry of a model folder may itself be a link to another place: a user who may
    /// create a link there may create a model there. The target of the entry is then added to the folders; for a bare
    /// file, the folder that contains it and its weights. A snapshot in the cache of a hub's programs links to files in
    /// the folder of its repository. Blocks.
    package func admitting(_ path: String) -> LinkPolicy {
        guard case .within(let folders) = self else { return self }
        var all = folders
        if let repository = ModelBundle.hubRepository(of: path) { all.append(repository.folder) }
        for folder in folders {
            let root = FilePath.absolute(folder), base = root == "/" ? root : root + "/"
            guard path.hasPrefix(base) else { continue }
            let rest = path.dropFirst(base.count).drop { $0 == "/" }
            let entry = String(base + rest.prefix { $0 != "/" })
            var status = stat()
            guard lstat(entry, &status) == 0, status.st_mode & S_IFMT == S_IFLNK, let place = Self.place(of: entry),
                stat(entry, &status) == 0
            else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                all.append(place)
            } else if let slash = place.lastIndex(of: "/"), ModelBundle.isModelFile(place) {
                all.append(slash == place.startIndex ? "/" : String(place[..<slash]))
            }
        }
        return .within(all)
    }

    /// The path by which the kernel knows an open file; nil if it cannot be opened. realpath(3) would fail if the model
    /// folder is itself a link into another container's files, /proc/PID/root/models.
    private static func place(of path: String) -> String? {
        let descriptor = open(path, Self.pathOnly | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let maximum = Int(PATH_MAX)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: maximum) { room in
            guard let base = room.baseAddress else { return nil }
            let count = readlink("/proc/self/fd/\(descriptor)", base, maximum)
            guard count > 0 else { return nil }
            return String(decoding: room[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    /// O_PATH, which the Glibc module lacks: the file is not opened for reading, so that pipes and devices are not
    /// affected, and files without read permission are found too.
    private static let pathOnly: Int32 = 0o10_000_000

    /// The problem of a file in a place that is not allowed.
    package static let problem =
        "is a link that leads out of the model folders: copy its target, or set external_links"
}
