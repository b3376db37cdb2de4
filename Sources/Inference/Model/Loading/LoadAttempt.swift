internal import EngineImporters
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
    static func load(_ plan: LoadPlan) throws(InferenceError) -> Loaded {
        var plan = plan
        while true {
            var attempt = try LoadAttempt(plan)
            if plan.part == nil, let reader = attempt.bundle.reader { return .reader(attempt.bundle, reader) }
            if plan.part == nil, let words = attempt.bundle.words { return .words(attempt.bundle, words) }
            if let loaded = try attempt.run() { return .model(loaded) }
            plan.changeEngine(after: attempt.report, attempt.loadCheck)
        }
    }

    /// The result of an attempt.
    enum Loaded: Sendable {
        case model(LoadedModel)
        /// The bundle is a reader: each of its networks must be loaded.
        case reader(ModelBundle, ReaderDescription)
        /// The bundle embeds texts: each of its networks must be loaded.
        case words(ModelBundle, WordsDescription)
    }

    /// Runs the stages in their order.
    /// - Returns: nil if the other engine must run the model.
    private mutating func run() throws(InferenceError) -> LoadedModel? {
        try checkElsewhere()
        let opened = try open()
        guard try compareEngines(opened) else { return nil }
        // Done before the model itself is compiled, so that only one of the two is in memory at a time.
        let reference = findReference(opened)
        guard let model = try compile(opened) else { return nil }
        try confirmCoreML(model)
        try refuseUnconfirmed()
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
        let bundle = try ModelBundle(path: plan.path, name: plan.name, links: plan.configuration.links)
        self.bundle = plan.part.map { bundle.network($0, cut: plan.cut) } ?? bundle
        if bundle.manifest?.pipeline != nil {
            let reason = "runs other models of its folder of models: load it by its name from that folder"
            throw .invalidBundle(name: bundle.name, problems: [BundleProblem(path: "pipeline", reason: reason)])
        }
        if plan.part == nil, bundle.reader != nil || bundle.words != nil,
            let problem = CalibrationFile.misplaced(in: bundle.path)
        {
            throw .invalidBundle(name: bundle.name, problems: [problem])
        }
        configuration = plan.configuration(for: bundle.runtime)
    }

    /// Loads the model in another process first, unless an earlier attempt has.
    private mutating func checkElsewhere() throws(InferenceError) {
        if let first = plan.firstEngine {
            (report, loadCheck) = first
            last = .now
            return
        }
        try runLoadCheck()
    }

    /// - Parameter again: checks a model that has passed before, too.
    private mutating func runLoadCheck(again: Bool = false) throws(InferenceError) {
        loadCheck = try configuration.loadCheck?.run(plan.path, name: bundle.name, stamp: bundle.stamp, again: again)
        report.loadCheck &+= step()
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
    private mutating func compareEngines(_ file: OpenedBundle) throws(InferenceError) -> Bool {
        defer { report.engineComparison &+= step() }
        report.confirmation = file.model.confirmation
        guard configuration.comparesEngines else {
            if report.confirmation.by == nil { report.confirmation = .trusted }
            return true
        }
        guard let question = file.model.question else { return true }
        if question.referee.isFragile, configuration.loadCheck != nil {
            // The decision on a model that has passed the load check is lost.
            if loadCheck == nil {
                try runLoadCheck(again: true)
                return false
            }
            guard report.wasTried else {
                report.confirmation = Confirmation(
                    unconfirmed:
                        "\(question.referee.engine.version) judges only in a load check, which was not possible")
                return true
            }
        }
        let comparison = EngineComparison(
            opened: file.model, referee: question.referee, source: source, plan: file.plan,
            options: configuration.compile,
            time: configuration.engineComparisonTime)
        switch comparison.outcome() {
        case .decided(let finding):
            question.decide(finding)
            report.confirmation = finding.confirmation
            return finding.fault == nil
        case .unknown(let reason):
            report.confirmation = Confirmation(unconfirmed: reason)
            return true
        case .refused(let reason):
            throw .invalidBundle(name: bundle.name, problems: [BundleProblem(path: "", reason: reason)])
        }
    }

    /// Confirms a Core ML model by a second evaluation of its file; a confirmation is kept until the file changes.
    /// - Throws: if the answers differ: it is not known which of them is right.
    private mutating func confirmCoreML(_ model: any CompiledModel) throws(InferenceError) {
        guard configuration.comparesEngines, ModelFormat(path: source.path) == .coreml,
            let path = try? CoreMLFile.modelPath(source.path)
        else { return }
        defer { report.engineComparison &+= step() }
        if let reason = CoreMLConfirmation.obstacle(path) {
            report.confirmation = Confirmation(unconfirmed: reason)
            return
        }
        let circumstances = [OcelliVersion.number, "referee 1"]
        let digest = EngineMemory.digest(of: path, format: .coreml)
        if let digest, let kept = EngineMemory.decision(digest, in: source.cacheFolder), kept.versions == circumstances
        {
            report.confirmation = kept.confirmation
            return
        }
        switch CoreMLConfirmation(path: source.path, compiled: model).outcome() {
        case .confirmed(let rows, let difference):
            report.confirmation = Confirmation(
                by: "a second evaluation of the file", at: ["\(rows) rows"], largestDifference: difference)
        case .impossible(let reason): report.confirmation = Confirmation(unconfirmed: reason)
        case .differs(let difference):
            let reason = "two independent evaluations of it differ: \(difference)"
            throw .invalidBundle(name: bundle.name, problems: [BundleProblem(path: "", reason: reason)])
        }
        guard let digest, report.confirmation.by != nil else { return }
        EngineMemory.keep(
            EngineMemory.Decision(
                engine: .openvino, reason: nil, versions: circumstances, confirmation: report.confirmation),
            on: digest, in: source.cacheFolder)
    }

    /// Refuses a model that nothing has confirmed, if the configuration requires it.
    private func refuseUnconfirmed() throws(InferenceError) {
        guard configuration.refusesUnconfirmed, configuration.comparesEngines, report.confirmation.by == nil else {
            return
        }
        let reason = "its answers are \(report.confirmation.text); the setting \"unconfirmed\" is \"refuse\""
        throw .invalidBundle(name: bundle.name, problems: [BundleProblem(path: "", reason: reason)])
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
            guard let question = file.model.question, error.kind != .noThreads, report.confirmation.by == nil,
                ["CPU", "AUTO"].contains(configuration.compile.device),
                (try? question.referee.engine.read(source)) != nil
            else { throw .engine(error) }
            let reason = "cannot compile it: \(error.detail)"
            question.decide(EngineFinding(fault: reason, .ownRuntime(question.referee.engine.version)))
            report.engineComparison &+= report.comparison &+ step()
            return nil
        }
    }

    /// Compiles the model for several items in one inference, if the bundle requests it.
    private func compileBatches(_ file: CompiledBundle) throws(InferenceError) -> BatchVariant? {
        try BatchVariant(
            limit: plan.part == .words(.texts) ? 1 : plan.batchLimit(for: bundle.runtime), bundle: bundle,
            plan: file.opened.plan,
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
            resources: try ModelResources(
                file.compiled, plan: plan, batch: batch, configuration: configuration, fallback: fallback(file),
                losesNonFinite: report.confirmation.losesNonFinite),
            observations: file.observations, batch: batch,
            singleStream: self.plan.cut == nil
                ? SingleStreamVariant.Recipe(
                    configuration.singleStream, source: source, stamp: bundle.stamp, engine: file.engine,
                    options: configuration.compile, execution: file.compiled.execution) : nil,
            calibration: file.opened.calibration, configuration: configuration, loadReport: report)
    }

    /// The runtime of the file's format, for inputs that the engine refuses; nil if the format has no other runtime.
    ///
    /// A runtime that crashes on some files runs only those that it has confirmed in the load check.
    private func fallback(_ file: CompiledBundle) -> FallbackRuntime.Recipe? {
        let model = file.opened.model
        guard let engine = model.alternative, plan.cut == nil else { return nil }
        if let question = model.question, question.referee.isFragile, report.confirmation.by == nil { return nil }
        return FallbackRuntime.Recipe(
            engine, source: source, stamp: bundle.stamp, first: file.engine, compiled: file.compiled,
            configuration: configuration)
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
