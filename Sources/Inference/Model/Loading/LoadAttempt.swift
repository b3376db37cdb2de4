internal import FileFormats
internal import SystemSupport

/// One attempt to load a model as planned, in stages. All of them block.
struct LoadAttempt {
    let plan: LoadPlan
    let bundle: ModelBundle
    /// The plan's configuration, with the settings of the bundle.
    private(set) var configuration: ModelConfiguration
    private(set) var report = LoadReport()
    private var loadCheck: LoadCheck.Report?
    /// The time when the previous stage ended.
    private var last: MonotonicInstant

    /// Loads a model, with the other engine if the first one turns out to be wrong.
    static func load(_ plan: LoadPlan) throws(InferenceError) -> LoadedModel {
        var plan = plan
        while true {
            var attempt = try LoadAttempt(plan)
            if let loaded = try attempt.run() { return loaded }
            plan.changeEngine(after: attempt.report, attempt.loadCheck)
        }
    }

    /// Runs the stages in their order.
    /// - Returns: nil if the other engine must run the model.
    private mutating func run() throws(InferenceError) -> LoadedModel? {
        try checkElsewhere()
        let opened = try open()
        guard compareEngines(opened) else { return nil }
        // Done before the model itself is compiled, so that only one of the two is in memory at a time.
        let reference = findReference(opened)
        guard let model = try compile(opened) else { return nil }
        let compiled = try CompiledBundle(opened, model)
        let batch = try compileBatches(compiled)
        try checkUnchanged()
        complete(compiled)
        return LoadedModel(
            model: try makeModel(compiled, batch), warmUp: opened.warmUp, reference: reference, goldens: opened.goldens)
    }

    /// Reads the bundle, but not its model file.
    private init(_ plan: LoadPlan) throws(InferenceError) {
        last = .now
        self.plan = plan
        bundle = try ModelBundle(path: plan.path, name: plan.name, links: plan.configuration.links)
        if bundle.manifest?.pipeline != nil {
            let reason = "runs other models of its folder of models: load it by its name from that folder"
            throw .invalidBundle(name: bundle.name, problems: [BundleProblem(path: "pipeline", reason: reason)])
        }
        configuration = plan.configuration(for: bundle.manifest?.runtime)
    }

    /// Loads the model in another process first, unless an earlier attempt has.
    private mutating func checkElsewhere() throws(InferenceError) {
        if let first = plan.firstEngine {
            (report, loadCheck) = first
            last = .now
            return
        }
        loadCheck = try configuration.loadCheck?.run(plan.path, name: bundle.name, stamp: bundle.stamp)
        report.loadCheck = step()
        report.loadCheckProblem = loadCheck?.problem
        report.wasTried = loadCheck?.wasTried ?? false
        report.triedEngineComparison = loadCheck?.engineComparison ?? 0
    }

    /// Reads the model file with the engine for it, and plans its inputs and outputs.
    private mutating func open() throws(InferenceError) -> OpenedBundle {
        let opened: OpenedModel
        do throws(EngineError) {
            let engine = if let engine = configuration.engine { engine } else { try DefaultEngine.shared() }
            opened = try engine.open(source)
        } catch {
            if error.kind == .noThreads { throw .engine(error) }
            let problem = BundleProblem(path: bundle.manifest?.file ?? "", reason: error.message)
            throw .invalidBundle(name: bundle.name, problems: error.problems.isEmpty ? [problem] : error.problems)
        }
        let file = try OpenedBundle(bundle, opened, configuration, isNumbered: plan.version != nil)
        configuration.compile.inputShapes = file.plan.inputShapes
        report.engine = opened.use
        report.read &+= step()
        return file
    }

    /// Compares the answers of two engines if the engine for the model is undecided, and decides.
    /// - Returns: false if the other engine must run the model.
    private mutating func compareEngines(_ file: OpenedBundle) -> Bool {
        defer { report.engineComparison &+= step() }
        report.engineUncompared = file.model.use?.incomparable
        guard let question = file.model.question else { return true }
        guard configuration.comparesEngines else {
            report.engineUncompared = "the model is trusted"
            return true
        }
        let comparison = EngineComparison(
            opened: file.model, question: question, source: source, plan: file.plan, options: configuration.compile,
            time: configuration.engineComparisonTime)
        switch comparison.outcome() {
        case .same(let shapes):
            question.decide(nil, at: shapes)
            report.engine?.comparedAt = shapes
        case .incomparable(let reason):
            question.decide(nil, incomparable: reason)
            report.engineUncompared = reason
        case .unknown(let reason): report.engineUncompared = reason
        case .wrong(let fault, let shapes):
            question.decide(fault, at: shapes)
            return false
        }
        return true
    }

    /// Finds the answers of one stream, with which those of several streams are compared when the model is loaded.
    private mutating func findReference(_ file: OpenedBundle) -> Reference? {
        let (reference, check) = Reference.find(
            file.model.file, engine: file.model.engine, source: source, configuration, plan: file.plan,
            known: plan.answers)
        report.streamCheck = configuration.streamDifference.map { .oneStream(reason: $0) } ?? check
        if reference?.answers.difference != nil { configuration.compile.streams = 1 }
        report.comparison = step()
        return reference
    }

    /// Compiles the model.
    /// - Returns: nil if the engine cannot, and the other engine must run the model.
    private mutating func compile(_ file: OpenedBundle) throws(InferenceError) -> (any CompiledModel)? {
        do throws(EngineError) {
            return try file.model.file.compile(configuration.compile)
        } catch {
            // Some files fail only when they are compiled.
            guard let question = file.model.question, error.kind != .noThreads, report.engineUncompared != nil,
                ["CPU", "AUTO"].contains(configuration.compile.device), (try? question.other.read(source)) != nil
            else { throw .engine(error) }
            question.decide("cannot compile it: \(error.detail)")
            report.engineComparison &+= report.comparison &+ step()
            return nil
        }
    }

    /// Compiles the model for several items in one inference, if the bundle requests it.
    private func compileBatches(_ file: CompiledBundle) throws(InferenceError) -> BatchVariant? {
        try BatchVariant(
            limit: plan.batchLimit(for: bundle.manifest?.runtime), bundle: bundle, plan: file.opened.plan,
            engine: file.engine, configuration: configuration,
            instances: configuration.instances ?? file.compiled.optimalRequestCount)
    }

    /// Refuses files that have changed since the bundle was read.
    private func checkUnchanged() throws(InferenceError) {
        guard !bundle.stamp.isCurrent else { return }
        let reason =
            "its files changed during the load: is it still being copied? Load it again when the copy is complete"
        throw .invalidBundle(name: bundle.name, problems: [BundleProblem(path: "", reason: reason)])
    }

    /// Completes the report with the properties of the compiled model.
    private mutating func complete(_ file: CompiledBundle) {
        let compiled = file.compiled
        report.compile = step()
        // A model that the load check has just compiled was not in the cache before this load.
        report.isCached = compiled.loadedFromCache && loadCheck?.compiledAnew != true
        report.fileBytes = bundle.stamp.bytes
        report.device = compiled.executionDevices
        report.advice = file.opened.plan.advice + compiled.remarks + file.observations.compactMap(\.advice)
        if let advice = bundle.adviceOnNumberedFolders { report.advice.append(advice) }
        if let advice = report.streamCheck.advice { report.advice.append(advice) }
        if let difference = plan.batchDifference {
            report.advice.append("runs without batches (runtime.batch): \(difference)")
        }
        if let advice = file.engine.advice(on: bundle.source, device: report.device) { report.advice.append(advice) }
        report.undecided = bundle.manifest?.undecided ?? []
        report.treatment = file.treatment
        report.execution = compiled.execution
        report.integerWeights = file.opened.model.file.integerWeights
        report.provenance = file.provenance
        if let differing = plan.differing { report.add(differing) }
    }

    /// Creates the model.
    private func makeModel(_ file: CompiledBundle, _ batch: BatchVariant?) throws(InferenceError) -> Model {
        let plan = file.opened.plan
        return Model(
            file.description(version: self.plan.version, opensBatch: batch != nil), bundle: bundle,
            options: file.opened.manifest?.options ?? plan.about?.options, provenance: file.provenance,
            resources: try ModelResources(file.compiled, plan: plan, batch: batch, configuration: configuration),
            observations: file.observations, batch: batch,
            singleStream: SingleStreamVariant.Recipe(
                configuration.singleStream, source: source, stamp: bundle.stamp, engine: file.engine,
                options: configuration.compile, execution: file.compiled.execution),
            configuration: configuration, loadReport: report)
    }

    /// The model file, with the settings for reading it.
    private var source: ModelSource { configuration.source(bundle.source) }

    /// Nanoseconds since the previous stage.
    private mutating func step() -> UInt64 {
        let now = MonotonicInstant.now
        defer { last = now }
        return now.nanoseconds(since: last)
    }
}

/// A model before its answers are compared, and the inputs that it runs before that.
struct LoadedModel: Sendable {
    let model: Model
    let warmUp: WarmUp
    /// The answers of one stream; nil if no comparison is needed.
    let reference: Reference?
    /// The goldens of the bundle; nil if it has none, or they are not compared.
    let goldens: GoldenSet?
}

extension LoadReport {
    /// Adds the previous attempt, if its answers differed.
    fileprivate mutating func add(_ first: LoadReport) {
        loadCheck = first.loadCheck
        wasTried = first.wasTried
        loadCheckProblem = first.loadCheckProblem
        // A model that the first attempt has compiled was not in the cache before.
        isCached = first.isCached
        comparison &+= first.read &+ first.compile &+ first.warmUp &+ first.comparison
    }
}
