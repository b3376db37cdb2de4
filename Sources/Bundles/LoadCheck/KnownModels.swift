internal import FoundationEssentials
internal import Glibc
internal import Synchronization

/// The models that have passed the load check, by path, with the state of their files at that time.
///
/// Stored in a file that may be lost, shared or damaged at any time: the worst effect is an unnecessary load check.
final class KnownModels: Sendable {
    /// The models that this process knows, regardless of the file; by circumstances and path.
    private static let ofThisProcess = Mutex<[String: String]>([:])
    /// The maximum number of entries in the file.
    private static let maximum = 1_000
    /// The maximum size of the file in bytes: a larger one was not written by Ocelli.
    private static let largest = 16 << 20

    private let file: String?
    let circumstances: String

    init(file: String?, circumstances: String) {
        self.file = file
        self.circumstances = circumstances
    }

    func contains(_ path: String, identity: String) -> Bool {
        let key = key(path)
        let isKnown = Self.ofThisProcess.withLock { $0[key] == identity }
        return isKnown || read()[key] == identity
    }

    func insert(_ path: String, identity: String) {
        let key = key(path)
        Self.ofThisProcess.withLock { known in
            if known.count >= Self.maximum { known.removeAll() }
            known[key] = identity
        }
        guard let file else { return }
        var entries = read()
        if entries.count >= Self.maximum { entries.removeAll() }
        entries[key] = identity
        guard let data = try? JSONEncoder().encode(entries) else { return }
        // Written atomically, by renaming. If the cache is not writable, the entry is not stored.
        try? data.write(to: URL(fileURLWithPath: file), options: .atomic)
    }

    private func key(_ path: String) -> String { "\(circumstances)\n\(path)" }

    private func read() -> [String: String] {
        var status = stat()
        guard let file, stat(file, &status) == 0, status.st_size <= Self.largest,
            let data = FileManager.default.contents(atPath: file)
        else { return [:] }
        return (try? JSONDecoder().decode([String: String].self, from: data)) ?? [:]
    }
}
