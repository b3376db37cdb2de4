internal import SystemSupport

extension EngineComparison {
    /// One inference of the first engine.
    private struct Trial {
        let shapes: [Int: Shape]
        let pattern: ProbePattern
        let answers: Result<[ReferenceAnswers.Output], EngineError>
    }

    /// Compares the engines at made-up extents. An extent that both refuse, or only the other engine, proves nothing.
    func outcomeOfOpenAxes() -> Outcome {
        let groups = TrialExtents(plan).groups
        var trials: [Trial] = []
        do throws(EngineError) {
            let compiled = try opened.engine.read(source).compile(optionsOfOneStream)
            guard let found = try self.trials(ShapeRunner(plan, compiled, time: time), groups) else {
                return .incomparable(Self.random)
            }
            trials = found
        } catch {
            guard error.kind != .noThreads else { return .unknown(error.message) }
            // The other engine may run what this one cannot compile.
            trials = groups.joined().map { Trial(shapes: $0, pattern: .noise, answers: .failure(error)) }
        }
        do throws(EngineError) {
            let file = try question.other.read(source)
            guard hasSamePorts(file) else { return .incomparable("the engines see other inputs or outputs") }
            return try outcome(of: trials, ShapeRunner(plan, try file.compile(optionsOfOneStream), time: time))
        } catch {
            return .unknown("\(question.other.version): \(error.detail)")
        }
    }

    /// The patterns, in this order: time may end before the last.
    private var patterns: [ProbePattern] {
        let hasIntegers = plan.inputs.contains { [.uint8, .int8].contains($0.description.elementType) }
        return [.noise, .picture, .edges] + (computesInIntegers || hasIntegers ? [.ties] : [])
    }

    /// Runs the first engine: on noise at the first extents of each group that it takes, then on the other patterns at
    /// the first two of them, which are the fastest.
    /// - Returns: nil if its answers are random.
    private func trials(_ runner: ShapeRunner, _ groups: [[[Int: Shape]]]) throws(EngineError) -> [Trial]? {
        var trials: [Trial] = [], taken: [[Int: Shape]] = []
        func run(_ shapes: [Int: Shape], _ pattern: ProbePattern) throws(EngineError) -> [ReferenceAnswers.Output]? {
            let answers = try runner.answers(at: shapes, to: pattern)
            trials.append(Trial(shapes: shapes, pattern: pattern, answers: answers))
            return try? answers.get()
        }
        for group in groups {
            for shapes in group where runner.hasTime(for: shapes) {
                guard let answers = try run(shapes, .noise) else { continue }
                if taken.isEmpty, let again = try? runner.answers(at: shapes, to: .noise).get(),
                    difference(again, answers) != nil
                {
                    return nil
                }
                taken.append(shapes)
                break
            }
        }
        for pattern in patterns.dropFirst() {
            for shapes in taken.prefix(2) where runner.hasTime(for: shapes) { _ = try run(shapes, pattern) }
        }
        return trials
    }

    /// Runs the other engine on the same inputs, up to the first difference.
    private func outcome(of trials: [Trial], _ runner: ShapeRunner) throws(EngineError) -> Outcome {
        var compared: [String] = [], refusal: EngineError?
        for trial in trials where runner.hasTime(for: trial.shapes) {
            let shapes = text(of: trial.shapes)
            let theirs: [ReferenceAnswers.Output]
            switch try runner.answers(at: trial.shapes, to: trial.pattern) {
            case .success(let answers): theirs = answers
            case .failure(let error):
                refusal = refusal ?? error
                continue
            }
            if compared.isEmpty, let again = try? runner.answers(at: trial.shapes, to: trial.pattern).get(),
                difference(again, theirs) != nil
            {
                return .incomparable(Self.random)
            }
            if compared.last != shapes, !compared.contains(shapes) { compared.append(shapes) }
            switch trial.answers {
            case .success(let ours):
                guard let difference = difference(ours, theirs) else { continue }
                return .wrong(
                    "computes it wrongly: \(difference) for \(trial.pattern.words) of \(shapes)", shapes: compared)
            case .failure(let error):
                return .wrong("cannot run it with \(shapes): \(error.detail)", shapes: compared)
            }
        }
        guard compared.isEmpty else { return .same(shapes: compared) }
        return .incomparable(
            "its shape is open, and no extents were found that it takes" + (refusal.map { ": \($0.detail)" } ?? ""))
    }
}

/// Runs a compiled model with open axes at one shape after another, within a time.
private final class ShapeRunner {
    private let plan: ModelPlan
    private let compiled: any CompiledModel
    /// The request of the last inference; nil after a failed one.
    private var request: (any InferRequest)?
    private let end: MonotonicInstant
    private var runs = 0
    /// Nanoseconds for each element of the inputs, measured when the model had run with their shapes before.
    private var cost: Double = 0
    private var last: [Int: Shape] = [:]

    /// - Parameter time: the time after which no inference is started.
    init(_ plan: ModelPlan, _ compiled: any CompiledModel, time: Duration) {
        self.plan = plan
        self.compiled = compiled
        end = .now + time
    }

    /// True if an inference is likely to end in the time that is left; always for the first one. At small extents most
    /// of the time does not depend on them, so that only a quarter of it is taken for the cost of an element.
    func hasTime(for shapes: [Int: Shape]) -> Bool {
        runs == 0 || .now + .nanoseconds(Int64(min(cost / 4 * elements(shapes), 1e15))) < end
    }

    private func elements(_ shapes: [Int: Shape]) -> Double {
        shapes.values.reduce(0) { $0 + Double($1.elementCount ?? 0) }
    }

    /// The answers of one inference, or the reason the model does not take the shapes.
    /// - Throws: if the engine has no threads, which is no property of the model.
    func answers(
        at shapes: [Int: Shape], to pattern: ProbePattern
    ) throws(EngineError) -> Result<[ReferenceAnswers.Output], EngineError> {
        let start = MonotonicInstant.now
        do throws(EngineError) {
            // As for requests: a failed inference would make the model useless.
            try compiled.check(shapes)
            let request = if let request { request } else { try compiled.makeRequest() }
            self.request = nil
            runs += 1
            let answers = try AnswerProbe(plan: plan, compiled: compiled, shapes: shapes).answers(
                of: request, to: pattern)
            self.request = request
            // The first inference with a shape prepares the kernels for it.
            if cost == 0, last == shapes {
                cost = Double(MonotonicInstant.now.nanoseconds(since: start)) / max(1, elements(shapes))
            }
            last = shapes
            return .success(answers)
        } catch {
            if error.kind == .noThreads { throw error }
            return .failure(error)
        }
    }
}
