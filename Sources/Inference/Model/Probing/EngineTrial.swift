/// One inference that two engines run for a comparison.
struct EngineTrial: Sendable, Hashable {
    /// The shapes of inputs with open axes, by the index of the input.
    var shapes: [Int: Shape] = [:]
    var pattern: ProbePattern
}

/// Other answers of the referee to trials, which show how much correct kernels differ.
struct OtherRun: Sendable {
    let run: EngineRun
    /// The first engine may differ this many times as much in the root mean square, and in the largest difference.
    let factor: Double, largestFactor: Double
}

/// The answers of one engine to trials.
struct EngineRun: Sendable {
    /// The trials and their answers, in the order of the inferences.
    private(set) var answers: [(trial: EngineTrial, outputs: [EngineAnswer])] = []
    /// The first trial that the model did not take, and the reason.
    private(set) var refusal: (trial: EngineTrial, error: EngineError)?
    /// The answers to the first input when it was repeated after others.
    private(set) var repeated: [[EngineAnswer]] = []

    /// The answer to a trial; nil if it was not run, or failed.
    subscript(trial: EngineTrial) -> [EngineAnswer]? { answers.first { $0.trial == trial }?.outputs }

    /// Runs a trial, unless it has been run.
    /// - Parameter nudge: the number of a small random change of the inputs; nil without.
    /// - Returns: false if the model does not take it.
    /// - Throws: if the engine has no threads, which is no property of the model.
    mutating func run(
        _ trial: EngineTrial, nudge: Int? = nil, _ runner: EngineRunner
    ) throws(EngineError) -> Bool {
        if self[trial] != nil { return true }
        switch try runner.answers(to: trial, nudge: nudge) {
        case .success(let outputs):
            answers.append((trial, outputs))
            return true
        case .failure(let error):
            refusal = refusal ?? (trial, error)
            return false
        }
    }

    /// Runs the first trial again: an answer may depend on the inference before it.
    mutating func repeatFirst(_ runner: EngineRunner) throws(EngineError) {
        guard let first = answers.first else { return }
        switch try runner.answers(to: first.trial) {
        case .success(let outputs): repeated.append(outputs)
        case .failure(let error): refusal = refusal ?? (first.trial, error)
        }
    }
}
