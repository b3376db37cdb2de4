internal import Dispatch
internal import SystemSupport

/// Runs a compiled model on one input after another, within a time, on a thread that may block. It keeps its request,
/// as a server does: an answer must not depend on the inferences before it.
final class EngineRunner {
    /// An input or output of the engine, by its index.
    struct Port {
        let index: Int
        let type: ElementType
        var shape = Shape([])
    }

    /// Fills the memory of an input, given its position in the list of inputs, for a trial with a nudge of a number, or
    /// none.
    typealias Fill = (Int, any EngineTensor, EngineTrial, Int?) -> Void

    private let compiled: any CompiledModel
    private let inputs: [Port], outputs: [Port]
    private let maximum: Int
    private let fill: Fill
    /// The request of the last inference; nil after a failed one.
    private var request: (any InferRequest)?
    private let end: MonotonicInstant
    private var runs = 0
    /// Nanoseconds of the fastest inference with each set of shapes after the first one, which prepares the kernels.
    private var times: [[Int: Shape]: Double] = [:]
    private var prepared: Set<[Int: Shape]> = []

    /// - Parameters:
    ///   - maximum: the maximum number of values that are kept of each output.
    ///   - time: the time after which no inference is started.
    init(
        _ compiled: any CompiledModel, inputs: [Port], outputs: [Port], maximum: Int, time: Duration,
        fill: @escaping Fill
    ) {
        self.compiled = compiled
        self.inputs = inputs
        self.outputs = outputs
        self.maximum = maximum
        self.fill = fill
        end = .now + time
    }

    /// True if an inference is likely to end in the time that is left; always for the first one. At small extents most
    /// of the time does not depend on them, so that only a quarter of it is taken for the cost of an element.
    func hasTime(for shapes: [Int: Shape]) -> Bool {
        guard runs > 0 else { return true }
        let known = times[shapes]
        let cost = times.map { $0.value / max(1, elements($0.key)) }.min() ?? 0
        return .now + .nanoseconds(Int64(min(known ?? cost / 4 * elements(shapes), 1e15))) < end
    }

    private func elements(_ shapes: [Int: Shape]) -> Double {
        shapes.values.reduce(0) { $0 + Double($1.elementCount ?? 0) }
    }

    /// The answers of one inference, or the reason the model does not take the input.
    /// - Throws: if the engine has no threads, which is no property of the model.
    func answers(
        to trial: EngineTrial, nudge: Int? = nil
    ) throws(EngineError) -> Result<[EngineAnswer], EngineError> {
        let start = MonotonicInstant.now
        do throws(EngineError) {
            // As for requests: a failed inference would make the model useless.
            if !trial.shapes.isEmpty { try compiled.check(trial.shapes) }
            let request = if let request { request } else { try compiled.makeRequest() }
            self.request = nil
            runs += 1
            let answers = try run(request, trial, nudge)
            self.request = request
            if !prepared.insert(trial.shapes).inserted {
                let time = Double(MonotonicInstant.now.nanoseconds(since: start))
                times[trial.shapes] = min(times[trial.shapes] ?? time, time)
            }
            return .success(answers)
        } catch {
            if error.kind == .noThreads { throw error }
            return .failure(error)
        }
    }

    private func run(
        _ request: any InferRequest, _ trial: EngineTrial, _ nudge: Int?
    ) throws(EngineError) -> [EngineAnswer] {
        var tensors: [any EngineTensor] = []
        for (position, input) in inputs.enumerated() {
            let tensor = try compiled.makeTensor(
                elementType: input.type, shape: trial.shapes[input.index] ?? input.shape)
            fill(position, tensor, trial, nudge)
            try request.setInput(input.index, to: tensor)
            tensors.append(tensor)
        }
        let ended = DispatchSemaphore(value: 0)
        try request.start { ended.signal() }
        ended.wait()
        // The inputs belong to the request until here.
        defer { withExtendedLifetime(tensors) {} }
        try request.finish()
        var answers: [EngineAnswer] = []
        for output in outputs {
            answers.append(
                try request.withOutput(output.index) { shape, raw in
                    EngineAnswer(raw, shape: shape, type: output.type, maximum: maximum)
                })
        }
        return answers
    }
}
