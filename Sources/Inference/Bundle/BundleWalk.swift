internal import Glibc

/// A walk over the files of a bundle: each folder once, however links lead to it, and no more than a bundle can need.
struct BundleWalk {
    /// Files and folders that are looked at, at most: a bundle has a handful, and a walk must not read a disk.
    static let most = 10_000
    private static let deepest = 8
    /// The problem of a bundle that a walk does not see whole.
    static let excess =
        "has more than \(most) files, or folders more than \(deepest) deep: remove what is not of the model, or set external_links"

    /// A file, or a folder that cannot be read.
    struct Entry {
        let path: String
        /// Links followed.
        let status: stat
    }

    private(set) var entries: [Entry] = []
    /// The symbolic links among what was passed, whatever they lead to.
    private(set) var links: [String] = []
    /// False if there are more files than are looked at, or deeper ones.
    private(set) var isComplete = true
    private var folders: Set<FileIdentity> = []
    /// Folders that were found too deep.
    private var deep: Set<FileIdentity> = []
    private var seen = 0

    /// Walks a file or a folder. Blocks.
    init(_ path: String) {
        visit(path, depth: 0)
        if !deep.isSubset(of: folders) { isComplete = false }
    }

    private mutating func visit(_ path: String, depth: Int) {
        guard seen < Self.most else {
            isComplete = false
            return
        }
        seen += 1
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        if status.st_mode & S_IFMT == S_IFLNK {
            links.append(path)
            guard stat(path, &status) == 0 else { return }
        }
        guard depth <= Self.deepest else {
            // A link may lead to a folder that is walked from another place.
            if status.st_mode & S_IFMT == S_IFDIR { deep.insert(FileIdentity(status)) } else { isComplete = false }
            return
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { return entries.append(Entry(path: path, status: status)) }
        guard folders.insert(FileIdentity(status)).inserted else { return }
        guard let names = try? FolderReader.disk.names(path) else {
            // Its own times still change when files are added, removed or replaced, and when it becomes readable.
            return entries.append(Entry(path: path, status: status))
        }
        // In order, so that what is looked at of a folder with too much in it is the same each time.
        for name in names.sorted() {
            visit(path + "/" + name, depth: depth + 1)
            guard isComplete || seen < Self.most else { return }
        }
    }
}

/// The identity of a file, whatever path it was found by.
struct FileIdentity: Sendable, Hashable {
    let device: UInt, inode: UInt

    init(_ status: stat) { (device, inode) = (UInt(status.st_dev), UInt(status.st_ino)) }
}
