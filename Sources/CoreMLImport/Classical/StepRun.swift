/// One prediction through the steps of a file: a state machine that pauses when the engine must compute.
package struct StepRun: Sendable {
    private let steps: ModelSteps
    private let thresholds: DetectorThresholds
    private var position = 0
    /// The known values by name: those of the file, then those of each pipeline that was entered.
    private var tables: [FeatureTable]

    /// The next action of the caller.
    package enum Next: Sendable {
        /// Run a graph, by its index in ``ModelSteps/graphs``, on these values, and pass its outputs to `resume`.
        case run(Int, FeatureTable)
        /// All outputs are computed.
        case done
    }

    package init(_ steps: ModelSteps, inputs: FeatureTable, thresholds: DetectorThresholds = DetectorThresholds()) {
        self.steps = steps
        self.thresholds = thresholds
        tables = [inputs]
    }

    /// The values computed so far; after ``Next/done``, they include the outputs.
    package var table: FeatureTable { tables.last ?? [:] }

    /// Advances to the next graph, or to the end.
    /// - Parameter isCancelled: checked between models; after a cancellation the caller ignores the result.
    package mutating func advance(isCancelled: () -> Bool = { false }) throws(EvaluationError) -> Next {
        while position < steps.steps.count, !isCancelled() {
            let step = steps.steps[position]
            switch step {
            case .run(let graph):
                return .run(graph, table)
            case .evaluate(let model): merge(try model(table, thresholds: thresholds))
            case .enter(let inputs):
                var inner: FeatureTable = [:]
                for input in inputs {
                    guard let data = table[input.name] else { continue }
                    inner[input.name] = try input.type.coerced(data, feature: input.name)
                }
                tables.append(inner)
            case .leave(let outputs):
                let inner = tables.popLast() ?? [:]
                for output in outputs {
                    guard let data = inner[output.name] else { continue }
                    merge([output.name: try output.type.coerced(data, feature: output.name)])
                }
            }
            position += 1
        }
        return .done
    }

    /// Takes the outputs of the graph at which `advance` stopped.
    package mutating func resume(with outputs: FeatureTable) {
        merge(outputs)
        position += 1
    }

    private mutating func merge(_ outputs: FeatureTable) {
        tables[tables.count - 1].merge(outputs) { $1 }
    }
}
