/// The cuts of the main subgraph of a TensorFlow Lite file: runs of consecutive operators.
///
/// Engines that get the same inputs differ by rounding after each operator, and a fault hides among such differences
/// after many. A run is therefore short. Operators with results that can change by any amount begin a run, because
/// there all engines get the same inputs. Operators that compute known values belong to no run: each run repeats those
/// that it needs (``KnownValues``).
struct SlicePlan {
    /// The operators of each run.
    private(set) var runs: [[Int]] = []

    private let graph: TFLiteGraph
    private let values: KnownValues
    /// The last operator that takes each tensor.
    private let lastUses: [Int: Int]

    /// - Parameter length: the maximum number of operators in a run.
    init(_ graph: TFLiteGraph, _ values: KnownValues, length: Int) {
        self.graph = graph
        self.values = values
        var lastUses: [Int: Int] = [:]
        for (index, node) in graph.operators.enumerated() {
            for input in node.inputs where input >= 0 { lastUses[input] = index }
        }
        self.lastUses = lastUses
        runs = cut(max(1, length))
    }

    private func cut(_ length: Int) -> [[Int]] {
        let outputs = Set(graph.outputs)
        var runs: [[Int]] = []
        var run: [Int] = []
        /// The tensors that the operators of the run produce.
        var produced: Set<Int> = []
        for index in graph.operators.indices {
            let node = graph.operators[index]
            guard !values.isRepeatable[index] || node.outputs.contains(where: outputs.contains) else { continue }
            let follows = run.last.map { !standsAlone($0) && !standsAlone(index) && !begins(index, after: produced) }
            if follows == false {
                runs.append(run)
                (run, produced) = ([], [])
            } else if run.count == length {
                let count = closedCount(of: run)
                runs.append(Array(run[..<count]))
                run.removeFirst(count)
                produced = Set(run.flatMap { graph.operators[$0].outputs })
            }
            run.append(index)
            produced.formUnion(node.outputs)
        }
        if !run.isEmpty { runs.append(run) }
        return runs
    }

    /// True for operators that one of the engines may lack, that run other subgraphs, or that may have undefined
    /// results.
    private func standsAlone(_ index: Int) -> Bool {
        let node = graph.operators[index]
        return node.code == TFLiteNames.customCode || TFLiteTraits.suppressions.contains(node.code)
            || TFLiteTraits.callers.contains(node.code) || graph.castsFloatsToIntegers(node)
    }

    /// True if an operator must get the same inputs in all engines, and takes results of the run that may differ.
    private func begins(_ index: Int, after produced: Set<Int>) -> Bool {
        let node = graph.operators[index]
        guard TFLiteTraits.jumping.contains(node.code) || TFLiteTraits.dequantize.contains(node.code) else {
            return false
        }
        return node.inputs.contains { produced.contains($0) && graph.tensors[$0].isRounded }
    }

    /// The number of operators of a full run after which it can end. LiteRT cannot write an output with a computed
    /// shape: the operators that use it stay in the run, or it begins the next one.
    private func closedCount(of run: [Int]) -> Int {
        var open: [Int] = [], best = run.count
        for (count, index) in zip(1..., run) {
            let node = graph.operators[index]
            if graph.hasComputedShape(node, values) { open += node.outputs }
            open.removeAll { lastUses[$0, default: -1] <= index }
            if open.isEmpty { best = count }
        }
        return best
    }
}

extension TFLiteGraph {
    func castsFloatsToIntegers(_ node: Operator) -> Bool {
        guard TFLiteTraits.casts.contains(node.code), let from = node.inputs.first, let to = node.outputs.first,
            from >= 0
        else { return false }
        return tensors[from].isFloat && tensors[to].isInteger
    }
}

extension TFLiteGraph.Tensor {
    /// True for results that good engines round differently.
    var isRounded: Bool { isFloat || isQuantized }
}
