internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import SystemSupport

/// A report's own cache of compiled models, empty at first, so that the first load is uncached and the second is
/// cached.
final class ReportCache: Sendable {
    /// The path of the folder; nil when it must not be created any more.
    private let path = Mutex<String?>(
        FileManager.default.temporaryDirectory.appending(path: "ocelli-report-\(UUID().uuidString)").path)

    /// Creates the folder.
    func make() throws(CommandError) -> String {
        // With the lock held: a signal that removes the folder meanwhile waits, or comes first.
        try path.withLock { path throws(CommandError) in
            guard let path else { throw CommandError("the measurement was interrupted") }
            try OutputFile.makeFolder(path)
            return path
        }
    }

    /// Removes the folder with its contents, permanently. Blocks.
    ///
    /// The engine may be writing to it at this moment. After the rename the engine does not find it any more, so
    /// nothing is added while it is removed. The folder is in the folder of temporary files, so a file that cannot be
    /// removed here is removed with those.
    func remove() {
        path.withLock { path in
            guard let old = path else { return }
            path = nil
            let name = old + ".removed"
            // Repeat in case the engine has created it again meanwhile.
            for _ in 0..<10 where FileManager.default.fileExists(atPath: old) {
                guard rename(old, name) == 0 else { return }
                try? FileManager.default.removeItem(atPath: name)
            }
        }
    }
}
