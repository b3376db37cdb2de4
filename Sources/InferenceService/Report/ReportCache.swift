internal import FoundationEssentials
internal import Synchronization

/// A cache of a report's own for compiled models, empty at first: so that the first load is surely uncached and the second
/// cached.
final class ReportCache: Sendable {
    /// The folder; empty when it is not to be made any more.
    private let path = Mutex<String?>(
        FileManager.default.temporaryDirectory.appending(path: "ocelli-report-\(UUID().uuidString)").path)

    /// Makes the folder.
    func make() throws(StartupError) -> String {
        // Under the lock: a signal that removes it meanwhile waits, or comes first.
        try path.withLock { path throws(StartupError) in
            guard let path else { throw StartupError("the measurement has been ended") }
            try OutputFile.makeFolder(path)
            return path
        }
    }

    /// Removes it with what is in it, for good. Blocks.
    func remove() {
        path.withLock { path in
            // It lies among temporary files: what cannot be removed is removed with them.
            if let path { try? FileManager.default.removeItem(atPath: path) }
            path = nil
        }
    }
}
