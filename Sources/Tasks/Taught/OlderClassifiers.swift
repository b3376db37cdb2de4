internal import Dispatch
internal import Synchronization
internal import Teaching

/// The heads of versions that are kept but do not serve: each is learned when a request needs it, one at a time, and
/// the most recent few are cached. Thread-safe.
final class OlderClassifiers: Sendable {
    private struct Entry: Sendable {
        let model: TaughtModel
        let version: Int
        let head: Task<TaughtClassifier?, Never>
    }

    private static let maximum = 8
    private let entries = Mutex<[Entry]>([])
    private let queue = DispatchQueue(label: "ocelli.taught-heads", qos: .utility)

    /// The model as if a version served; nil if that version is not kept.
    func view(of model: TaughtModel, version: Int) async -> TaughtView? {
        let view = model.view
        if view.state.serving == version { return view }
        guard view.state.version(version) != nil else { return nil }
        let task = entries.withLock { entries -> Task<TaughtClassifier?, Never> in
            if let index = entries.firstIndex(where: { $0.model === model && $0.version == version }) {
                let entry = entries.remove(at: index)
                entries.append(entry)
                return entry.head
            }
            let task = Task { [queue] in
                await withCheckedContinuation { continuation in
                    queue.async { continuation.resume(returning: view.head(of: version)) }
                }
            }
            entries.append(Entry(model: model, version: version, head: task))
            if entries.count > Self.maximum { entries.removeFirst() }
            return task
        }
        let head = await task.value
        // It may have been forgotten meanwhile, and its threshold may be known now.
        return model.view.serving(version, head: head)
    }

    /// Drops the heads that are no longer kept, because they contain their examples.
    func drop(_ isGone: (TaughtModel, Int) -> Bool) {
        entries.withLock { entries in entries.removeAll { isGone($0.model, $0.version) } }
    }
}
