internal import EngineAPI
package import Glibc

/// A walk over the files of a bundle: visits each folder once, even if several links lead to it, with limits on number
/// and depth.
package struct BundleWalk {
    /// The maximum number of files and folders that are visited: a bundle has few, and a walk must not read a whole
    /// disk.
    package static let maximum = 10_000
    private static let deepest = 8
    /// The problem of a bundle that exceeds the limits.
    static let excess =
        "has more than \(maximum) files, or folders more than \(deepest) deep: remove files that do not belong to the model, or set external_links"

    /// A file, or a folder that cannot be read.
    package struct Entry {
        package let path: String
        /// The status of the link's target, if it is a link.
        package let status: stat
    }

    package private(set) var entries: [Entry] = []
    /// The symbolic links among the visited entries, with any target.
    private(set) var links: [String] = []
    /// False if the number of entries or the depth exceeds the limits.
    private(set) var isComplete = true
    private var folders: Set<FileIdentity> = []
    /// Folders that were not entered because of their depth.
    private var deep: Set<FileIdentity> = []
    private var seen = 0

    /// Walks a file or a folder. Blocks.
    package init(_ path: String) {
        visit(path, depth: 0)
        if !deep.isSubset(of: folders) { isComplete = false }
    }

    private mutating func visit(_ path: String, depth: Int) {
        guard seen < Self.maximum else {
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
            // The folder may be reached by another path that is less deep.
            if status.st_mode & S_IFMT == S_IFDIR { deep.insert(FileIdentity(status)) } else { isComplete = false }
            return
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { return entries.append(Entry(path: path, status: status)) }
        guard folders.insert(FileIdentity(status)).inserted else { return }
        guard let names = try? FolderReader.disk.names(path) else {
            // The folder's own times still change when files are added, removed or replaced, and when its permissions
            // change.
            return entries.append(Entry(path: path, status: status))
        }
        // Sorted, so that the same entries of a folder with too many are visited each time.
        for name in names.sorted() {
            visit(path + "/" + name, depth: depth + 1)
            guard isComplete || seen < Self.maximum else { return }
        }
    }
}

/// The identity of a file, independent of its path.
struct FileIdentity: Sendable, Hashable {
    let device: UInt, inode: UInt

    init(_ status: stat) { (device, inode) = (UInt(status.st_dev), UInt(status.st_ino)) }
}
