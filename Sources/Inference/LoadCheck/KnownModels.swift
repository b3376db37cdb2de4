internal import FoundationEssentials
internal import Glibc
internal import Synchronization

/// The models that have been loaded without harm, by path, with the state of their files then.
///
/// Kept in a file that may be lost, shared or damaged at any time: the worst of it is a load check that need not have
/// been.
final class KnownModels: Sendable {
    /// The models that this process knows, whatever becomes of the file; by circumstances and path.
    private static let ofThisProcess = Mutex<[String: String]>([:])
    /// Entries that the file keeps at most.
    private static let most = 1_000
    /// A file larger than that is not ours.
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
            if known.count >= Self.most { known.removeAll() }
            known[key] = identity
        }
        guard let file else { return }
        var entries = read()
        if entries.count >= Self.most { entries.removeAll() }
        entries[key] = identity
        guard let data = try? JSONEncoder().encode(entries) else { return }
        // Whole or not at all: it is renamed into its place. A cache that cannot be written is one that is not there.
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
