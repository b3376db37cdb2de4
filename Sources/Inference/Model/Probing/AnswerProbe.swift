internal import Dispatch
internal import SystemSupport

/// Runs a compiled model on synthetic inputs, on a thread that may block.
struct AnswerProbe {
    let plan: ModelPlan
    let compiled: any CompiledModel
    /// The number of items of each inference, all equal; nil for a model without a batch axis.
    var items: Int?

    /// If the first inference takes longer than this, in nanoseconds, only the picture pattern is run.
    private static let slow: UInt64 = 1_000_000_000
    /// The maximum number of rounds of a pattern, and the time in nanoseconds after which rounds end. Several rounds
    /// are needed because a fast stream may take the work of another.
    private static let maximumRounds = 16, roundsTime: UInt64 = 10_000_000

    /// Computes the answers of a model that runs on one stream.
    func reference() throws(EngineError) -> ReferenceAnswers {
        let request = try compiled.makeRequest()
        var reference = ReferenceAnswers()
        reference.tolerance = ReferenceAnswers.tolerance(precision: compiled.execution.precision)
        for pattern in ProbePattern.usual {
            let start = MonotonicInstant.now
            let inputs = try self.inputs(pattern)
            reference.answers[pattern] = try answers(of: [request], to: inputs).first
            let isSlow = MonotonicInstant.now.nanoseconds(since: start) > Self.slow
            if let again = try answers(of: [request], to: inputs).first,
                reference.difference(again, to: pattern, plan: plan) != nil
            {
                reference.isRandom = true
                return reference
            }
            if isSlow { break }
        }
        return reference
    }

    /// The difference between the reference and the answers of requests that run at the same time; nil if they agree.
    func difference(
        from reference: ReferenceAnswers, requests: [any InferRequest],
        patterns: [ProbePattern] = ProbePattern.usual,
        rounds: Int = maximumRounds
    ) throws(EngineError) -> String? {
        for pattern in patterns where reference.answers[pattern] != nil {
            let inputs = try self.inputs(pattern), start = MonotonicInstant.now
            for _ in 0..<rounds {
                for found in try answers(of: requests, to: inputs) {
                    if let difference = reference.difference(found, to: pattern, plan: plan) {
                        return difference + " for \(pattern.words)"
                    }
                }
                if MonotonicInstant.now.nanoseconds(since: start) > Self.roundsTime { break }
            }
        }
        return nil
    }

    private func inputs(_ pattern: ProbePattern) throws(EngineError) -> [any EngineTensor] {
        var tensors: [any EngineTensor] = []
        let made = plan.hasZeros ? [:] : try madeUpShapes()
        for input in plan.inputs {
            let tensor = try compiled.makeTensor(
                elementType: input.description.elementType,
                shape: items.map { Shape([$0] + input.description.shape.dimensions.dropFirst()) }
                    ?? made[input.index] ?? input.description.shape.withOneRow)
            if let items {
                for item in 0..<items { pattern.fill(BatchItemTensor(item, of: items, in: tensor), plan: input) }
            } else {
                pattern.fill(tensor, plan: input)
            }
            tensors.append(tensor)
        }
        return tensors
    }

    /// The first extents for open axes that the model accepts, by the index of the input.
    private func madeUpShapes() throws(EngineError) -> [Int: Shape] {
        var failure: EngineError?
        for shapes in TrialExtents(plan).groups.joined() {
            do throws(EngineError) {
                try compiled.check(shapes)
                return shapes
            } catch {
                failure = failure ?? error
            }
        }
        throw failure
            ?? EngineError(
                kind: .failure, operation: "make up inputs", detail: "no extents were found for its open axes")
    }

    private func answers(
        of requests: [any InferRequest], to inputs: [any EngineTensor]
    ) throws(EngineError) -> [[ReferenceAnswers.Output]] {
        for request in requests {
            // Resets the thresholds of the prediction that ran on this request before.
            request.setDetectionThresholds(DetectionThresholds())
            for (position, input) in plan.inputs.enumerated() {
                try request.setInput(input.index, to: inputs[position])
            }
        }
        let ended = DispatchSemaphore(value: 0)
        var started: [any InferRequest] = []
        var failure: EngineError?
        for request in requests {
            do throws(EngineError) {
                try request.start { ended.signal() }
                started.append(request)
            } catch {
                failure = failure ?? error
            }
        }
        // No request may be released while it runs.
        for _ in started { ended.wait() }
        for request in started {
            do throws(EngineError) { try request.finish() } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
        var answers: [[ReferenceAnswers.Output]] = []
        for request in requests {
            guard let items else {
                answers.append(try ReferenceAnswers.outputs(of: request, plan: plan))
                continue
            }
            for item in 0..<items {
                let outputs = BatchItemOutputs(request: request, item: item, count: items)
                answers.append(try ReferenceAnswers.outputs(of: outputs, plan: plan))
            }
        }
        return answers
    }
}

extension Shape {
    /// The shape with one row if the number of rows is open.
    fileprivate var withOneRow: Shape {
        dimensions.first == Shape.dynamic ? Shape([1] + dimensions.dropFirst()) : self
    }
}
