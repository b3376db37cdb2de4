internal import FoundationEssentials
internal import Glibc

/// The folder in which the engine keeps compiled models. The engine only ever adds to it; this takes away.
public enum CompiledModelCache {
    /// What was taken away.
    public struct Pruned: Sendable, Hashable {
        /// Files, and the bytes that they had.
        public var files = 0, bytes = 0
    }

    /// Removes compiled models, least recently used first, until the rest fits.
    ///
    /// Only the engine's own files (`*.blob`) are touched. A model that is loaded does not need its file any more, so
    /// none is in use. Blocks.
    /// - Parameters:
    ///   - folder: the cache's folder; one that is not there is empty.
    ///   - limit: the bytes that may stay.
    @discardableResult
    public static func prune(_ folder: String, to limit: Int) -> Pruned {
        var files: [(path: String, size: Int, used: Int)] = []
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where name.hasSuffix(".blob") {
            let path = folder + "/" + name
            var status = stat()
            guard stat(path, &status) == 0 else { continue }
            // Reading need not move the time of access (noatime): a file is as young as the younger of the two.
            files.append((path, Int(status.st_size), max(status.st_atim.tv_sec, status.st_mtim.tv_sec)))
        }
        var total = files.reduce(0) { $0 + $1.size }
        var pruned = Pruned()
        for file in files.sorted(by: { $0.used < $1.used }) where total > limit {
            guard unlink(file.path) == 0 else { continue }
            total -= file.size
            pruned.files += 1
            pruned.bytes += file.size
        }
        return pruned
    }
}
