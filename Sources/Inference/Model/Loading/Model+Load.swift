internal import FlowControl
internal import SystemSupport

extension Model {
    /// Loads a bundle or a model file: reads, checks, compiles and warms it up.
    ///
    /// The work is done on a thread that may block; the calling task only waits.
    /// - Parameters:
    ///   - path: a bundle's folder (with `model.json`), or a model file.
    ///   - name: the name of the model; nil takes it from the path.
    ///   - configuration: how to load and run it; `runtime` of the bundle takes precedence.
    ///   - version: the version, if it is not that of the bundle (for example, that of a numbered folder); nil uses the
    ///     bundle's.
    /// - Throws: ``InferenceError/invalidBundle(name:problems:)`` with every problem, or an engine error.
    public static func load(
        contentsOf path: String, name: String? = nil, configuration: ModelConfiguration = ModelConfiguration(),
        version: String? = nil
    ) async throws(InferenceError) -> Model {
        let plan = LoadPlan(
            path: FilePath.absolute(path), name: name, version: version, configuration: configuration)
        return try await load(plan)
    }

    static func load(_ plan: LoadPlan) async throws(InferenceError) -> Model {
        var plan = plan
        while true {
            switch try await attempt(plan) {
            case .served(let model): return model
            case .reader(let bundle, let reader): return try await load(bundle, reader, plan)
            case .words(let bundle, let words): return try await load(bundle, words, plan)
            // The model that differs is released by now.
            case .differs(let difference, let report): try plan.avoid(difference, in: report)
            }
        }
    }

    private enum Compared {
        case served(Model)
        case reader(ModelBundle, ReaderDescription)
        case words(ModelBundle, WordsDescription)
        /// The answers of the model's streams or batches differ, with the report of its load.
        case differs(StreamDifference, LoadReport)
    }

    /// Makes one attempt, within ``ModelConfiguration/loadLimit``. A load that hangs longer is abandoned.
    private static func attempt(_ plan: LoadPlan) async throws(InferenceError) -> Compared {
        guard let limit = plan.configuration.loadLimit else { return try await loadAndCompare(plan) }
        let pending = PendingLoad<Result<Compared, InferenceError>>()
        Task.detached {
            do throws(InferenceError) {
                pending.fulfil(.success(try await loadAndCompare(plan)))
            } catch {
                pending.fulfil(.failure(error))
            }
        }
        guard let result = try? await pending.value(until: .now + limit) else {
            let reason =
                "was still being loaded after \(limit.components.seconds) s: check the disk and the mount of its files"
            throw .invalidBundle(
                name: plan.name ?? ModelBundle.servedName(of: plan.path),
                problems: [BundleProblem(path: "", reason: reason)])
        }
        return try result.get()
    }

    /// Loads a model, warms it up, and compares the answers of its streams with those of one stream, and its answers
    /// with the goldens.
    private static func loadAndCompare(_ plan: LoadPlan) async throws(InferenceError) -> Compared {
        let result = try await LoaderThread.run {
            Result { () throws(InferenceError) in try LoadAttempt.load(plan) }
        }.get()
        let loaded: LoadedModel
        switch result {
        case .model(let model): loaded = model
        case .reader(let bundle, let reader): return .reader(bundle, reader)
        case .words(let bundle, let words): return .words(bundle, words)
        }
        let model = loaded.model
        try await model.warmUp(loaded.warmUp)
        if let reference = loaded.reference {
            let difference = await LoaderThread.run(lending: model) { $0.compare(with: reference) }
            if let difference { return .differs(difference, model.loadReport) }
        }
        if let goldens = loaded.goldens { try await model.check(goldens) }
        return .served(model)
    }
}
