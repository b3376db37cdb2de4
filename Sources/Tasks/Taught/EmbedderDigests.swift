internal import Inference
internal import Synchronization

/// The digests of the files of loaded models. Each is computed once, on a thread that may block. Thread-safe.
final class EmbedderDigests: Sendable {
    private struct Entry: Sendable {
        weak var model: Model?
        let digest: Task<String?, Never>
        /// The computed digest; nil until then, and an inner nil if the files have changed since the load.
        var value: String??
    }

    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])
    /// Reads of files of models that are not loaded, by the name of the model, while they last.
    private let reads = Mutex<[String: Task<Void, Never>]>([:])

    /// The digest, if it has been computed.
    func known(_ model: Model) -> String? {
        entries.withLock { entries -> String? in
            guard let entry = entries[ObjectIdentifier(model)], entry.model === model else { return nil }
            return entry.value ?? nil
        }
    }

    /// The result of computing the digest: nil until then, and an inner nil if the files have changed since the load.
    func outcome(_ model: Model) -> String?? {
        entries.withLock { entries -> String?? in
            guard let entry = entries[ObjectIdentifier(model)], entry.model === model else { return nil }
            return entry.value
        }
    }

    /// The digest, in the form of taught models; nil if the files have changed since the load.
    func digest(of model: Model) async -> String? {
        let task = entries.withLock { entries -> Task<String?, Never> in
            let id = ObjectIdentifier(model)
            if let entry = entries[id], entry.model === model { return entry.digest }
            entries = entries.filter { $0.value.model != nil }
            let task = Task { await LoaderThread.run { model.loadedFilesDigest.map { "sha256:" + $0 } } }
            entries[id] = Entry(model: model, digest: task)
            return task
        }
        let value = await task.value
        entries.withLock { entries in
            guard entries[ObjectIdentifier(model)]?.model === model else { return }
            entries[ObjectIdentifier(model)]?.value = .some(value)
        }
        return value
    }

    /// Runs `work`, which reads the files of a model that is not loaded, on a thread of low priority that may block.
    /// Callers that come while it runs for this name wait for it instead of running their own.
    func read(_ name: String, _ work: @escaping @Sendable () -> Void) async {
        let task = reads.withLock { reads -> Task<Void, Never> in
            if let task = reads[name] { return task }
            let task = Task {
                await LoaderThread.run(lowPriority: true, work)
                _ = self.reads.withLock { $0.removeValue(forKey: name) }
            }
            reads[name] = task
            return task
        }
        await task.value
    }
}
