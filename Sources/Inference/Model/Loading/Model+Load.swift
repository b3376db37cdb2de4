internal import FlowControl
internal import Synchronization
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
        let path = FilePath.absolute(path)
        var configuration = configuration
        var difference: StreamDifference?
        var ofStreams: String?
        while true {
            let again: StreamDifference
            switch try await loadComparing(
                path, name: name, configuration: configuration, version: version, because: difference)
            {
            case .served(let model): return model
            case .differs(let found): again = found
            }
            // The model that differs is released by now. The load check has already run for this file.
            configuration.loadCheck = nil
            // Batches and streams are each changed at most once, so there are at most three loads.
            if again.isOfBatches, configuration.batchDifference == nil {
                configuration.batchDifference = again.text
            } else if ofStreams == nil {
                ofStreams = again.text
                configuration.compile.streams = 1
            } else {
                throw .engine(
                    EngineError(
                        kind: .failure, operation: "give the same answers twice",
                        detail: "\(ofStreams ?? ""); compiled once more, with one stream, \(again.text)"))
            }
            difference = again
        }
    }

    private enum Compared {
        case served(Model)
        case differs(StreamDifference)
    }

    /// Loads a model, warms it up, and compares the answers of its streams with those of one stream, within
    /// ``ModelConfiguration/loadLimit``. A load that hangs longer is abandoned.
    /// - Parameter difference: the difference that the previous load found; nil for the first load.
    private static func loadComparing(
        _ path: String, name: String?, configuration: ModelConfiguration, version: String?,
        because difference: StreamDifference? = nil
    ) async throws(InferenceError) -> Compared {
        let work: @Sendable () async -> Result<Compared, InferenceError> = {
            do throws(InferenceError) {
                return .success(
                    try await loadAndCompare(
                        path, name: name, configuration: configuration, version: version, because: difference))
            } catch {
                return .failure(error)
            }
        }
        guard let limit = configuration.loadLimit else { return try await work().get() }
        let pending = PendingLoad<Result<Compared, InferenceError>>()
        Task.detached { pending.fulfil(await work()) }
        guard let result = try? await pending.value(until: .now + limit) else {
            let reason =
                "was still being loaded after \(limit.components.seconds) s: check the disk and the mount of its files"
            throw .invalidBundle(
                name: name ?? ModelBundle.servedName(of: path), problems: [BundleProblem(path: "", reason: reason)])
        }
        return try result.get()
    }

    private static func loadAndCompare(
        _ path: String, name: String?, configuration: ModelConfiguration, version: String?,
        because difference: StreamDifference?
    ) async throws(InferenceError) -> Compared {
        let work: @Sendable () -> Result<Loaded, InferenceError> = {
            Result { () throws(InferenceError) in
                try loadBlocking(
                    path, name: name, configuration: configuration, version: version,
                    answers: difference?.answers)
            }
        }
        let loaded = try await LoaderThread.run(work).get()
        try await loaded.model.warmUp(loaded.warmUp)
        if let difference { loaded.model.note(difference) }
        if let reference = loaded.reference {
            let found = await LoaderThread.run(lending: loaded.model) { $0.compare(with: reference) }
            if let found { return .differs(found.after(loaded.model.loadReport)) }
        }
        if let goldens = loaded.goldens { try await loaded.model.check(goldens) }
        return .served(loaded.model)
    }

    /// A model, and the inputs that it runs before it is handed out.
    private struct Loaded: Sendable {
        let model: Model
        let warmUp: WarmUp
        /// The answers of one stream; nil if no comparison is needed.
        let reference: Reference?
        /// The goldens of the bundle; nil if it has none, or they are not compared.
        let goldens: GoldenSet?
    }

    /// The folder that contains a version's goldens: the bundle, or the numbered folder that contains a bare model
    /// file. Blocks.
    private static func goldenFolder(of bundle: ModelBundle, isNumbered: Bool) -> String {
        guard isNumbered, (try? FolderReader.disk.kind(bundle.path)) == .file,
            let slash = bundle.path.lastIndex(of: "/")
        else { return bundle.path }
        return String(bundle.path[..<slash])
    }

    // Long: the stages of a load in their order.
    private static func loadBlocking(
        _ path: String, name: String?, configuration: ModelConfiguration, version: String?, answers: ReferenceAnswers?
    ) throws(InferenceError) -> Loaded {
        let start = MonotonicInstant.now
        let bundle = try ModelBundle(path: path, name: name, links: configuration.links)
        if bundle.manifest?.pipeline != nil {
            let reason = "runs other models of its folder of models: load it by its name from that folder"
            throw .invalidBundle(name: bundle.name, problems: [BundleProblem(path: "pipeline", reason: reason)])
        }
        let given = configuration
        var configuration = configuration
        if let runtime = bundle.manifest?.runtime { configuration.apply(runtime) }
        if configuration.streamDifference != nil { configuration.compile.streams = 1 }
        let tried = try configuration.loadCheck?.run(path, name: bundle.name, stamp: bundle.stamp)
        let tryDone = MonotonicInstant.now
        let (planner, opened) = try read(bundle, configuration)
        let engine = opened.engine
        let derived = bundle.facts.map { facts in
            let path = bundle.source.path
            let file = FilePath.name(of: path) ?? ""
            return FactPlanner(
                facts: facts, inputs: planner.file.inputs, outputs: planner.file.outputs,
                file: ModelBundle.isSavedModel(path) ? "saved_model.pb" : file, name: bundle.name
            ).plan()
        }
        let manifest = bundle.manifest ?? derived?.manifest
        let plan = if let manifest = derived?.manifest { planner.plan(manifest) } else { planner.plan(bundle) }
        let warmUp = WarmUp(bundle.manifest?.runtime.warmUp, plan: plan, problems: planner.problems)
        let goldens =
            configuration.comparesGoldens
            ? GoldenSet(
                bundle: goldenFolder(of: bundle, isNumbered: version != nil),
                agreement: bundle.manifest?.goldenAgreement, problems: planner.problems) : nil
        guard planner.problems.problems.isEmpty else {
            throw .invalidBundle(name: bundle.name, problems: planner.problems.problems)
        }
        let readDone = MonotonicInstant.now
        configuration.compile.inputShapes = plan.inputShapes
        /// Loads the model again with the engine that was selected.
        func withOtherEngine() throws(InferenceError) -> Loaded {
            var configuration = given
            configuration.loadCheck = nil
            configuration.engineComparison = MonotonicInstant.now.nanoseconds(since: readDone)
            let loaded = try loadBlocking(
                path, name: name, configuration: configuration, version: version, answers: nil)
            let times = (loadCheck: tryDone.nanoseconds(since: start), read: readDone.nanoseconds(since: tryDone))
            loaded.model.note(tried, before: times)
            return loaded
        }
        let uncompared = compareEngines(opened, bundle, plan, configuration)
        if case .otherEngine = uncompared { return try withOtherEngine() }
        let enginesDone = MonotonicInstant.now
        // Done before the model itself is compiled, so that only one of the two is in memory at a time.
        var (reference, unchecked) = Reference.find(
            planner.file, engine: engine, source: configuration.source(bundle.source), configuration, plan: plan,
            known: answers)
        if let known = configuration.streamDifference { unchecked = .oneStream(reason: known) }
        if reference?.answers.difference != nil { configuration.compile.streams = 1 }
        let referenceDone = MonotonicInstant.now
        let compiled: any CompiledModel
        do throws(EngineError) {
            compiled = try planner.file.compile(configuration.compile)
        } catch {
            // Some files fail only when they are compiled.
            if let question = opened.question, error.kind != .noThreads, uncompared.isUnknown,
                ["CPU", "AUTO"].contains(configuration.compile.device),
                (try? question.other.read(configuration.source(bundle.source))) != nil
            {
                question.settle("cannot compile it: \(error.detail)")
                return try withOtherEngine()
            }
            throw .engine(error)
        }
        // Derived facts that do not fit are not a mistake in the bundle: the model is served as tensors, and the
        // provenance states the reason.
        var provenance = derived?.provenance
        let observationProblems = bundle.manifest == nil ? ProblemList() : planner.problems
        let described = manifest?.observations ?? []
        let observations = (described.isEmpty ? planner.ownObservations : described).compactMap {
            ObservationPlan($0, plan: plan, compiled: compiled, problems: observationProblems)
        }
        guard planner.problems.problems.isEmpty else {
            throw .invalidBundle(name: bundle.name, problems: planner.problems.problems)
        }
        if bundle.manifest == nil {
            for problem in observationProblems.problems {
                provenance?.leaveOpen("outputs", "outputs that fit: \(problem.reason)")
            }
        }
        let batch = try BatchVariant(
            limit: configuration.batchDifference == nil ? bundle.manifest?.runtime.batch ?? 1 : 1, bundle: bundle,
            plan: plan, engine: engine,
            configuration: configuration, instances: configuration.instances ?? compiled.optimalRequestCount)
        guard bundle.stamp.isCurrent else {
            let reason =
                "its files changed during the load: is it still being copied? Load it again when the copy is complete"
            throw .invalidBundle(name: bundle.name, problems: [BundleProblem(path: "", reason: reason)])
        }
        var report = LoadReport()
        report.loadCheck = tryDone.nanoseconds(since: start)
        report.loadCheckProblem = tried?.problem
        report.wasTried = tried?.wasTried ?? false
        report.read = readDone.nanoseconds(since: tryDone)
        report.engine = opened.use
        report.engineUncompared = uncompared.reason
        report.engineComparison = configuration.engineComparison &+ enginesDone.nanoseconds(since: readDone)
        report.triedEngineComparison = tried?.engineComparison ?? 0
        report.comparison = referenceDone.nanoseconds(since: enginesDone)
        report.compile = MonotonicInstant.now.nanoseconds(since: referenceDone)
        report.streamCheck = unchecked
        // A model that the load check has just compiled was not in the cache before this load.
        report.isCached = compiled.loadedFromCache && tried?.compiledAnew != true
        report.fileBytes = bundle.stamp.bytes
        report.device = compiled.executionDevices
        report.advice = plan.advice + compiled.remarks + observations.compactMap(\.advice)
        if let advice = bundle.adviceOnNumberedFolders { report.advice.append(advice) }
        if let advice = unchecked.advice { report.advice.append(advice) }
        if let difference = configuration.batchDifference {
            report.advice.append("runs without batches (runtime.batch): \(difference)")
        }
        if let advice = engine.advice(on: bundle.source, device: report.device) { report.advice.append(advice) }
        report.undecided = bundle.manifest?.undecided ?? []
        report.execution = compiled.execution
        report.integerWeights = planner.file.integerWeights
        report.provenance = provenance
        let model = try Model(
            bundle: bundle, manifest: manifest, provenance: provenance, version: version, plan: plan,
            observations: observations, compiled: compiled, batch: batch,
            singleStream: SingleStreamVariant.Recipe(
                configuration.singleStream, source: configuration.source(bundle.source), stamp: bundle.stamp,
                engine: engine,
                options: configuration.compile, execution: compiled.execution),
            configuration: configuration, loadReport: report)
        return Loaded(model: model, warmUp: warmUp, reference: reference, goldens: goldens)
    }

    /// Adds the times of the load before it switched to the engine that runs this model.
    private func note(_ tried: LoadCheck.Report?, before times: (loadCheck: UInt64, read: UInt64)) {
        load.withLock { report in
            report.loadCheck = times.loadCheck
            report.loadCheckProblem = tried?.problem
            report.wasTried = tried?.wasTried ?? false
            report.triedEngineComparison = tried?.engineComparison ?? 0
            // A model that the load check has just compiled was not in the cache before this load.
            if tried?.compiledAnew == true { report.isCached = false }
            report.read &+= times.read
        }
    }

    /// The result of comparing two engines.
    private enum EngineOutcome {
        /// No comparison was needed, or the answers are the same.
        case settled
        /// The answers were not compared, for this reason.
        case unknown(String)
        /// The other engine must run the model.
        case otherEngine

        var isUnknown: Bool { if case .unknown = self { true } else { false } }
        var reason: String? { if case .unknown(let reason) = self { reason } else { nil } }
    }

    /// Compares the answers of two engines if the engine for the model is undecided, and decides. Blocks.
    private static func compareEngines(
        _ opened: OpenedModel, _ bundle: ModelBundle, _ plan: ModelPlan, _ configuration: ModelConfiguration
    ) -> EngineOutcome {
        guard let question = opened.question else { return .settled }
        guard configuration.comparesEngines else { return .unknown("the model is trusted") }
        let comparison = EngineComparison(
            opened: opened, question: question, source: configuration.source(bundle.source), plan: plan,
            options: configuration.compile)
        switch comparison.outcome() {
        case .same: question.settle(nil)
        case .unknown(let reason): return .unknown(reason)
        case .wrong(let fault):
            question.settle(fault)
            return .otherEngine
        }
        return .settled
    }

    /// Reads a bundle's model file with the engine.
    private static func read(
        _ bundle: ModelBundle, _ configuration: ModelConfiguration
    ) throws(InferenceError) -> (ModelPlanner, OpenedModel) {
        do throws(EngineError) {
            let engine = if let engine = configuration.engine { engine } else { try DefaultEngine.shared() }
            let opened = try engine.open(configuration.source(bundle.source))
            return (ModelPlanner(file: opened.file, limits: configuration.imageLimits), opened)
        } catch {
            if error.kind == .noThreads { throw .engine(error) }
            let problem = BundleProblem(path: bundle.manifest?.file ?? "", reason: error.message)
            throw .invalidBundle(name: bundle.name, problems: error.problems.isEmpty ? [problem] : error.problems)
        }
    }
}

extension ModelConfiguration {
    /// Applies the settings of the bundle's `runtime`, which take precedence over the defaults.
    mutating func apply(_ runtime: ModelRuntime) {
        if let device = runtime.device { compile.device = device }
        if let hint = runtime.hint { compile.hint = hint }
        if let engine = runtime.engine { engineRequest.preference = engine }
        if let precision = runtime.precision { compile.precision = precision }
        if let integerWeights = runtime.integerWeights { self.integerWeights = integerWeights }
        if let instances = runtime.instances { self.instances = instances }
        if let maxInFlight = runtime.maxInFlight { self.maxInFlight = maxInFlight }
        if let threads = runtime.loneThreads { singleStream = SingleStreamPolicy(threads: threads) }
    }
}
