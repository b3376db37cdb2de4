internal import EngineAPI
internal import FileFormats
internal import Glibc
internal import Synchronization

/// The state of the files of a bundle at one moment: names, identities, sizes and modification times.
///
/// If the stamps before and after a load differ, the bundle was being copied during the load: the loaded model may be a
/// mixture of old and new files. If the stamp of a loaded bundle is still current, there is nothing new to load.
package struct BundleStamp: Sendable, Hashable {
    /// The change time of the inode reveals contents that were replaced while keeping the modification time.
    private struct Entry: Sendable, Hashable {
        let path: String
        let file: FileIdentity
        let size: Int
        let modified: Time, changed: Time
    }

    private struct Time: Sendable, Hashable {
        let seconds: Int, nanoseconds: Int
        init(_ time: timespec) { (seconds, nanoseconds) = (time.tv_sec, time.tv_nsec) }
    }

    /// The path of the bundle's folder, or of the bare model file.
    private let path: String
    private var entries: Set<Entry> = []

    /// The stamp as text, for storage: comparing it later shows whether the files have changed.
    var identity: String {
        entries.map { entry in
            "\(entry.path)\t\(entry.size)\t\(entry.modified.seconds).\(entry.modified.nanoseconds)\t"
                + "\(entry.changed.seconds).\(entry.changed.nanoseconds)\t\(entry.file.inode)"
        }.sorted().joined(separator: "\n")
    }

    /// Reads the state of a bundle's folder; or of a bare model file and of the files that contain its weights. Other
    /// files next to it, such as the daemon's own log, are not part of the model. Blocks.
    package init(path: String) {
        self.path = path
        // Hidden files are skipped: rsync and editors write new contents under such a name, and rename the file when it
        // is complete.
        for entry in BundleWalk(path).entries where !entry.path.dropFirst(path.count).contains("/.") {
            insert(entry.path, entry.status)
        }
        guard let format = ModelFormat(file: path), entries.count == 1, let file = entries.first, file.path == path,
            let dot = path.lastIndex(of: ".")
        else { return }
        let weights = format.weightEndings.map { path[..<dot] + $0 } + (format == .onnx ? Self.weights(of: file) : [])
        for path in weights {
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            insert(path, status)
        }
    }

    /// The weight files of bare ONNX files, by the state of the file: their names are found by reading all of it, and
    /// watched folders are scanned every second.
    private static let known = Mutex<[Entry: [String]]>([:])
    private static let maximumKnown = 1_000

    private static func weights(of file: Entry) -> [String] {
        if let weights = known.withLock({ $0[file] }) { return weights }
        let weights = ModelBundle.externalFiles(of: file.path)
        known.withLock { known in
            if known.count >= maximumKnown { known = [:] }
            known[file] = weights
        }
        return weights
    }

    /// The total size of all files, in bytes.
    package var bytes: Int { entries.reduce(0) { $0 &+ max(0, $1.size) } }

    /// True if the files have not changed. Blocks.
    package var isCurrent: Bool { BundleStamp(path: path) == self }

    private mutating func insert(_ path: String, _ status: stat) {
        guard entries.count < BundleWalk.maximum else { return }
        entries.insert(
            Entry(
                path: path, file: FileIdentity(status), size: Int(status.st_size),
                modified: Time(status.st_mtim), changed: Time(status.st_ctim)))
    }
}
