internal import SystemSupport

extension EngineComparison {
    /// The maximum number of values of one engine that are kept.
    private static let maximumValues = 4_000_000
    /// The least maximum for an output: one wrong value in 10,000 is then found in a sample.
    private static let minimumValues = 1 << 17

    /// The patterns, in this order: time may end before the last.
    private var patterns: [ProbePattern] {
        let types = plan.inputs.map(\.description.elementType), traits = referee.traits
        var patterns: [ProbePattern] = [.noise, .picture]
        if inputs.contains(where: { $0.boxColumns != nil }) { patterns.append(.boxes) }
        patterns += [.edges, .halves]
        if traits.computesInIntegers || types.contains(.uint8) || types.contains(.int8) { patterns.append(.ties) }
        if traits.takesAnyInteger, types.contains(where: { !$0.isFloatingPoint && $0.byteCount > 2 }) {
            patterns.append(.large)
        }
        if inputs.contains(where: \.takesNaN) { patterns += [.nan, .infinities] }
        return patterns
    }

    /// A runner of the plan's inputs.
    func runner(_ compiled: any CompiledModel) -> EngineRunner {
        let most = Self.maximumValues / max(1, outputs.count) / (patterns.count + 3)
        return EngineRunner(
            compiled,
            inputs: plan.inputs.map {
                EngineRunner.Port(
                    index: $0.index, type: $0.description.elementType, shape: $0.description.shape)
            },
            outputs: outputs.map { EngineRunner.Port(index: $0.index, type: $0.description.elementType) },
            maximum: max(most, Self.minimumValues), time: time
        ) { position, tensor, trial, nudge in
            trial.pattern.fill(tensor, plan: plan.inputs[position], inputs[position])
            if let nudge { ProbeNudge(number: nudge, referee.traits).apply(to: tensor, position: position) }
        }
    }

    /// Runs the referee: on noise at the first extents of each group that it takes, then on the other patterns at the
    /// first two of them, which are the fastest, and on the first input again.
    func plannedRun(_ runner: EngineRunner) throws(EngineError) -> EngineRun {
        var run = EngineRun(), taken: [[Int: Shape]] = []
        for group in plan.hasZeros ? [[[:]]] : TrialExtents(plan).groups {
            for shapes in group where runner.hasTime(for: shapes) {
                // A model that refuses noise may take other values.
                var isTaken = false
                for pattern in [.noise, .halves, .picture] as [ProbePattern] where !isTaken {
                    isTaken = try run.run(EngineTrial(shapes: shapes, pattern: pattern), runner)
                }
                guard isTaken else { continue }
                taken.append(shapes)
                // The second inference with the same shapes shows the time that one takes.
                if taken.count == 1, runner.hasTime(for: shapes) {
                    _ = try run.run(EngineTrial(shapes: shapes, pattern: .picture), runner)
                    try repeatFirstShapes(&run, runner)
                }
                break
            }
        }
        for pattern in patterns {
            for shapes in taken.prefix(2) where runner.hasTime(for: shapes) {
                _ = try run.run(EngineTrial(shapes: shapes, pattern: pattern), runner)
            }
        }
        try run.repeatFirst(runner)
        return run
    }

    /// Runs trials in the time that an engine has, and the first one again.
    func run(_ trials: [EngineTrial], _ runner: EngineRunner) throws(EngineError) -> EngineRun {
        var run = EngineRun()
        for (index, trial) in trials.enumerated() where runner.hasTime(for: trial.shapes) {
            _ = try run.run(trial, runner)
            if index == 1, trial.shapes == trials[0].shapes { try repeatFirstShapes(&run, runner) }
        }
        try run.repeatFirst(runner)
        return run
    }

    /// Runs the first trial again after another one with its shapes, if the last inference of all may have other
    /// shapes.
    private func repeatFirstShapes(_ run: inout EngineRun, _ runner: EngineRunner) throws(EngineError) {
        if !plan.hasZeros { try run.repeatFirst(runner) }
    }

    /// Other answers of the referee to the same trials: with its other kernels, and to inputs that have changed by
    /// about as much as rounding changes intermediate values.
    func otherRuns(_ expected: EngineRun) throws(EngineError) -> [OtherRun] {
        let trials = expected.answers.map(\.trial)
        var runs: [OtherRun] = []
        func add(_ engine: any Engine, nudges: [Int?], _ factor: Double) throws(EngineError) {
            do throws(EngineError) {
                let runner = runner(try engine.read(source).compile(options))
                for nudge in nudges {
                    var run = EngineRun()
                    for trial in trials where runner.hasTime(for: trial.shapes) {
                        if nudge == nil || trial.pattern.isNudged { _ = try run.run(trial, nudge: nudge, runner) }
                    }
                    runs.append(OtherRun(run: run, factor: factor, largestFactor: factor))
                }
            } catch {
                // An engine that does not run the file shows nothing.
                if error.kind == .noThreads { throw error }
            }
        }
        if let variant = referee.variant { try add(variant, nudges: [nil], AgreementRule.kernels) }
        if plan.inputs.contains(where: { ProbeNudge.changes($0.description.elementType, referee.traits) }) {
            let factor =
                referee.traits.computesInIntegers ? AgreementRule.nudgeOfIntegers : AgreementRule.nudgeOfNumbers
            try add(referee.engine, nudges: [0, 1], factor)
        }
        return runs
    }

    /// Keeps the answers of the first engine for the comparison of its streams, which then need not compile the model
    /// again.
    func keepReference(_ run: EngineRun, _ compiled: any CompiledModel) {
        guard keepsReference, source.cacheFolder != nil, plan.hasZeros, plan.inputs.count == 1,
            [.float32, .uint8].contains(plan.inputs[0].description.elementType)
        else { return }
        let file = opened.file, maximum = ReferenceAnswers.maximumValues(of: plan)
        let reference = ReferenceSource(file, engine: opened.engine, source: source, options: options, plan: plan)
        guard reference.cached() == nil else { return }
        var answers = ReferenceAnswers()
        answers.tolerance = ReferenceAnswers.tolerance(precision: compiled.execution.precision)
        for pattern in ProbePattern.usual {
            let sampled = run[EngineTrial(pattern: pattern)]?.compactMap { $0.sampled(maximum: maximum) }
            guard let sampled, sampled.count == outputs.count else { return }
            answers.answers[pattern] = sampled
        }
        reference.keep(answers)
    }
}
