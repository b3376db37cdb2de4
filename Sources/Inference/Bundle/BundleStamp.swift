internal import FoundationEssentials
internal import Glibc

/// What the files of a bundle looked like at one moment: names, sizes and times of change.
///
/// Taken before and after a load, two stamps that differ mean that the bundle was being copied meanwhile: what was loaded
/// may be half of the old and half of the new.
struct BundleStamp: Sendable, Hashable {
    private struct Entry: Sendable, Hashable {
        let path: String
        let size: Int
        let seconds: Int
        let nanoseconds: Int
    }

    private let entries: Set<Entry>

    /// Files that are looked at, at most: a bundle has a handful, and a stamp must not walk a disk.
    private static let most = 10_000

    /// Looks at a bundle's folder, or at a bare model file. Blocks.
    init(path: String) {
        var entries: Set<Entry> = []
        Self.add(path, depth: 0, to: &entries)
        self.entries = entries
    }

    private static func add(_ path: String, depth: Int, to entries: inout Set<Entry>) {
        guard depth <= 8, entries.count < most else { return }
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        if status.st_mode & S_IFMT == S_IFDIR {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
                add(path + "/" + name, depth: depth + 1, to: &entries)
            }
        } else {
            entries.insert(
                Entry(
                    path: path, size: Int(status.st_size), seconds: status.st_mtim.tv_sec,
                    nanoseconds: status.st_mtim.tv_nsec))
        }
    }
}
