internal import SystemSupport

/// Compares the answers of the first engine with those of the referee, the runtime of the file's own format, because
/// the first engine computes some converted operators wrongly without reporting an error.
///
/// Both run on synthetic inputs, one engine after the other, and at last on the first input again; open axes get
/// made-up extents. The first engine is wrong if its answer has another shape, or other values than rounding explains
/// (``AgreementRule``), if it refuses an input that the referee takes, or if only its answers depend on the inferences
/// before.
struct EngineComparison {
    let opened: OpenedModel
    let referee: EngineReferee
    let source: ModelSource
    let plan: ModelPlan
    /// The time in which each engine starts inferences.
    let time: Duration
    let options: CompileOptions
    let inputs: [ProbeInput]
    /// The outputs that are tensors.
    let outputs: [OutputPlan]
    let rule: AgreementRule
    /// True if the streams of the first engine are compared later, at the settings of this comparison.
    let keepsReference: Bool

    /// The result of the comparison.
    enum Outcome {
        /// It holds until the file or the engines change.
        case decided(EngineFinding)
        /// The answers could not be compared this time, for this reason.
        case unknown(String)
        /// No engine runs the model rightly, for this reason.
        case refused(String)
    }

    init(
        opened: OpenedModel, referee: EngineReferee, source: ModelSource, plan: ModelPlan, options: CompileOptions,
        time: Duration
    ) {
        self.opened = opened
        self.referee = referee
        self.source = source
        self.plan = plan
        self.time = time
        keepsReference =
            options.precision == .float32 && options.device == "CPU" && options.runsSeveralStreams
            && opened.engine.comparesStreams
        var options = options
        // Uses full precision, regardless of the configuration: the rounding of lower precisions exceeds the tolerance
        // of this comparison.
        options.precision = .float32
        // The comparison does not depend on the device either, and the other engine may lack it.
        options.device = "CPU"
        options.inputShapes = plan.inputShapes
        options.streams = 1
        // Compiled from the file itself, so that an error in the cache cannot affect the answers.
        options.cacheDirectory = nil
        self.options = options
        inputs = ProbeInput.inputs(of: plan, referee.traits)
        outputs = plan.outputs.filter { if case .feature = $0.kind { false } else { true } }
        rule = AgreementRule(traits: referee.traits)
    }

    /// Compiles the model for one engine after the other, and runs it. Blocks.
    func outcome() -> Outcome {
        guard let fault = referee.fault, !fault.isOfOpenAxes || !plan.hasZeros else { return compared() }
        func refusal(_ reason: String) -> Outcome {
            .refused("\(opened.engine.version) \(fault.clause), and \(reason)")
        }
        if fault.isShared { return refusal("\(referee.engine.version) does, too") }
        switch compared() {
        case .decided(let finding) where finding.confirmation.by == nil:
            return refusal("nothing confirms its answers: \(finding.confirmation.reason ?? "")")
        case .unknown(let reason): return refusal("nothing confirms its answers: \(reason)")
        case let outcome: return outcome
        }
    }

    private func compared() -> Outcome {
        guard plan.inputs.allSatisfy({ $0.description.elementType != .string }) else {
            return incomparable("an input is a string")
        }
        let expected: EngineRun
        do throws(EngineError) {
            let file = try referee.engine.read(source)
            guard hasSamePorts(file) else { return incomparable("the engines see other inputs or outputs") }
            expected = try plannedRun(runner(try file.compile(options)))
        } catch {
            return .unknown("\(referee.engine.version): \(error.detail)")
        }
        guard let first = expected.answers.first else {
            let reason =
                (plan.hasZeros ? "no input was found" : "its shape is open, and no extents were found")
                + " that it takes" + (expected.refusal.map { ": \($0.error.detail)" } ?? "")
            // A runtime that runs the inputs of clients is then right where this engine may be wrong.
            guard referee.isFragile else { return wrong("cannot be compared: \(reason)") }
            return incomparable(reason)
        }
        guard !expected.repeated.isEmpty, unsteady(expected) == nil else {
            return incomparable("the same input gives different answers")
        }
        do throws(EngineError) {
            let compiled = try opened.engine.read(source).compile(options)
            let found = try run(expected.answers.map(\.trial), runner(compiled))
            return try outcome(of: found, expected, compiled)
        } catch {
            guard error.kind != .noThreads else { return .unknown(error.message) }
            return wrong("cannot run it\(extents(of: first.trial)): \(error.detail)", isFinal: true)
        }
    }

    private func outcome(
        of found: EngineRun, _ expected: EngineRun, _ compiled: any CompiledModel
    ) throws(EngineError) -> Outcome {
        if let (trial, error) = found.refusal { return wrong("cannot run it\(extents(of: trial)): \(error.detail)") }
        if let difference = unsteady(found) {
            return wrong("gives different answers to the same input: \(difference)")
        }
        var doubts = EngineDoubts(rule, outputs: outputs.map(\.description.name)), doubtsOfPictures = doubts
        for (trial, outputs) in found.answers {
            guard let expected = expected[trial] else { continue }
            if trial.pattern.isFinite || !hasOnlyPicturesWithNaN {
                doubts.add(outputs, expected, trial)
            } else {
                doubtsOfPictures.add(outputs, expected, trial)
            }
        }
        var whole: String?
        if doubts.isOpen, let doubt = doubts.remaining(others: try otherRuns(expected), found, expected) {
            let extents = plan.hasZeros ? "" : " of \(text(of: doubt.trial.shapes))"
            whole = "computes it wrongly: \(doubt.text) for \(doubt.trial.pattern.words)\(extents)"
        }
        // Where a difference of the whole file proves nothing, one in a part may.
        if let whole, referee.disclaimer == nil { return wrong(whole) }
        var by = referee.engine.version
        if let parts = referee.parts, plan.hasZeros {
            var comparison = PartComparison(self, parts)
            let outcome = try comparison.outcome()
            if let fault = outcome.fault {
                return .decided(EngineFinding(fault: fault, .ownRuntime(referee.engine.version)))
            }
            by += ", in \(outcome.compared) of \(parts.count) parts and in whole"
        }
        if let whole { return wrong(whole) }
        keepReference(found, compiled)
        return .decided(
            EngineFinding(
                Confirmation(
                    by: by, at: compared(found.answers.map(\.trial)), largestDifference: doubts.largest,
                    losesNonFinite: doubtsOfPictures.isOpen)))
    }

    /// True if NaN and infinities were put into pictures only. Pictures that are decoded have none, so that a
    /// difference concerns only the tensors of some clients.
    private var hasOnlyPicturesWithNaN: Bool { inputs.allSatisfy { $0.isPicture || !$0.takesNaN } }

    /// The shapes of the inputs in trials, in words.
    private func compared(_ trials: [EngineTrial]) -> [String] {
        guard !plan.inputs.isEmpty else { return [] }
        return trials.map { text(of: $0.shapes) }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// The difference of an engine's answers to the first input, in words; nil if they agree.
    private func unsteady(_ run: EngineRun) -> String? {
        var doubts = EngineDoubts(.ofOneEngine, outputs: outputs.map(\.description.name))
        for repeated in run.repeated {
            if let first = run.answers.first { doubts.add(repeated, first.outputs, first.trial) }
        }
        return doubts.first?.text
    }

    // MARK: Results

    /// - Parameters:
    ///   - fault: the error of the first engine, as the end of a sentence.
    ///   - isFinal: true if the first engine cannot run the model at all.
    func wrong(_ fault: String, isFinal: Bool = false) -> Outcome {
        guard let disclaimer = referee.disclaimer else {
            return .decided(EngineFinding(fault: fault, .ownRuntime(referee.engine.version)))
        }
        let confirmation = Confirmation(unconfirmed: "\(disclaimer) (\(opened.engine.version) \(fault))")
        return .decided(isFinal ? EngineFinding(fault: fault, confirmation) : EngineFinding(confirmation))
    }

    /// The answers cannot be compared; no error of the first engine is known.
    private func incomparable(_ reason: String) -> Outcome {
        .decided(EngineFinding(Confirmation(unconfirmed: reason)))
    }

    /// ` with [1,3,37,51]` for open axes.
    private func extents(of trial: EngineTrial) -> String {
        plan.hasZeros ? "" : " with \(text(of: trial.shapes))"
    }

    /// The shapes of the inputs in words: open axes have these extents, by the index of the input.
    private func text(of shapes: [Int: Shape]) -> String {
        let all = plan.inputs.map { ($0.description.name, shapes[$0.index] ?? $0.description.shape) }
        return all.count == 1 ? "\(all[0].1)" : all.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    }

    /// True if the other engine has the same inputs and outputs. The ranks of outputs are compared when it runs.
    private func hasSamePorts(_ file: any ModelFile) -> Bool {
        opened.file.inputs.map(\.elementType) == file.inputs.map(\.elementType)
            && opened.file.inputs.map(\.shape.dimensions.count) == file.inputs.map(\.shape.dimensions.count)
            && opened.file.outputs.map(\.elementType) == file.outputs.map(\.elementType)
    }
}
