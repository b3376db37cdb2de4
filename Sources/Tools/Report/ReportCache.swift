internal import FoundationEssentials
internal import Glibc
internal import InferenceService
internal import Synchronization

/// A cache of a report's own for compiled models, empty at first: so that the first load is surely uncached and the
/// second cached.
final class ReportCache: Sendable {
    /// The folder; empty when it is not to be made any more.
    private let path = Mutex<String?>(
        FileManager.default.temporaryDirectory.appending(path: "ocelli-report-\(UUID().uuidString)").path)

    /// Makes the folder.
    func make() throws(StartupError) -> String {
        // Under the lock: a signal that removes it meanwhile waits, or comes first.
        try path.withLock { path throws(StartupError) in
            guard let path else { throw StartupError("the measurement was interrupted") }
            try OutputFile.makeFolder(path)
            return path
        }
    }

    /// Removes it with what is in it, for good. Blocks.
    ///
    /// The engine may be writing to it at this moment: under another name it finds it no more, and nothing new gets in
    /// between the last look and the end. It lies among temporary files: what cannot be removed is removed with them.
    func remove() {
        path.withLock { path in
            guard let old = path else { return }
            path = nil
            let name = old + ".removed"
            // Again where the engine has created it meanwhile.
            for _ in 0..<10 where FileManager.default.fileExists(atPath: old) {
                guard rename(old, name) == 0 else { return }
                try? FileManager.default.removeItem(atPath: name)
            }
        }
    }
}
