internal import FileFormats

/// A TensorFlow Lite file cut into parts of a few consecutive operators, each a TensorFlow Lite file of its own.
///
/// The parts run one after the other: the outputs of each are inputs of later ones, by the index of the tensor.
/// Together they compute what the file computes, except for outputs that are inputs or constants. Parts have the size
/// of the file, and are made on demand. Other subgraphs stay whole.
package struct TFLiteSlices: Sendable {
    /// The maximum number of operators in a part, unless the caller chooses another. In a row of operators that round
    /// to integers, each makes the differences of good engines larger, and faults hide among them: with eight
    /// operators, 31 of 138 planted faults were not found, with four 12 of 184. Among floats, all were found.
    package static func length(for arithmetic: TFLiteArithmetic) -> Int { arithmetic.contains(.integers) ? 4 : 16 }

    /// The parts in the order of execution.
    package let slices: [TFLiteSlice]
    /// The inputs and outputs of the main subgraph.
    package let inputs: [TFLiteTensorPort], outputs: [TFLiteTensorPort]

    private static let maximumSubgraphs = 1_024
    /// The most operators of all parts together, because each part repeats operators that compute known values.
    private static let maximumOperators = 1 << 20

    /// - Parameter length: the maximum number of operators in a part; nil for that of the file's arithmetic.
    /// - Throws: the reason that the file cannot be cut.
    package init(_ file: [UInt8], length: Int? = nil) throws(JudgingError) {
        let graphs = try JudgingError.reading(try TFLiteGraph.graphs(of: file, maximum: Self.maximumSubgraphs))
        guard let graph = graphs.first, !graph.operators.isEmpty else { throw JudgingError("it has no operators") }
        try Self.check(graphs)
        let values = KnownValues(graph)
        let arithmetic = graph.operators.reduce(into: TFLiteArithmetic()) {
            $0.formUnion(TFLiteArithmetic($1, graph, values))
        }
        let plan = SlicePlan(graph, values, length: length ?? Self.length(for: arithmetic))
        var needed = Set(graph.outputs)
        var slices: [TFLiteSlice] = []
        var left = Self.maximumOperators
        // From the end, so that it is known which tensors later parts need.
        for run in plan.runs.reversed() {
            let given = run.flatMap { graph.operators[$0].outputs }.filter(needed.contains)
            guard !given.isEmpty else { continue }
            let operators = Self.repeated(for: run, graph, values)
            left -= operators.count
            guard left >= 0 else { throw JudgingError("too many of its operators compute constants") }
            let taken = Self.inputs(of: operators, graph)
            needed.formUnion(taken)
            slices.append(
                try TFLiteSlice(
                    graph, values, run: run, operators: operators, inputs: taken, outputs: given, fileSize: file.count))
        }
        self.slices = slices.reversed()
        func port(_ tensor: Int) throws(JudgingError) -> TFLiteTensorPort {
            let name = try JudgingError.reading(try TFLiteNames.bytes(ofTensor: graph.tensors[tensor].table))
            return try TFLiteTensorPort(tensor, name: String(decoding: name, as: UTF8.self), of: graph)
        }
        var ports: [[TFLiteTensorPort]] = [[], []]
        for tensor in graph.inputs { ports[0].append(try port(tensor)) }
        for tensor in graph.outputs { ports[1].append(try port(tensor)) }
        (inputs, outputs) = (ports[0], ports[1])
    }

    /// Finds reasons that parts would compute other values than the whole.
    private static func check(_ graphs: [TFLiteGraph]) throws(JudgingError) {
        for graph in graphs {
            for node in graph.operators where TFLiteTraits.stateful.contains(node.code) {
                throw JudgingError("its operator \(graph.name(of: node)) keeps values from one run to the next")
            }
        }
        for input in graphs[0].inputs {
            guard graphs[0].producers[input] == nil else {
                throw JudgingError("one of its operators overwrites an input")
            }
        }
    }

    /// The operators of a run with those that compute known values for it, in the order of execution.
    private static func repeated(for run: [Int], _ graph: TFLiteGraph, _ values: KnownValues) -> [Int] {
        var operators = Set(run)
        var next = run
        while let index = next.popLast() {
            for input in graph.operators[index].inputs {
                guard let producer = graph.producers[input], values.isRepeatable[producer] else { continue }
                if operators.insert(producer).inserted { next.append(producer) }
            }
        }
        return operators.sorted()
    }

    /// The tensors that operators take from outside, in the order of their use.
    private static func inputs(of operators: [Int], _ graph: TFLiteGraph) -> [Int] {
        let inside = Set(operators), inputs = Set(graph.inputs)
        var taken: [Int] = [], seen: Set<Int> = []
        for index in operators {
            for input in graph.operators[index].inputs where input >= 0 {
                let isOutside = graph.producers[input].map { !inside.contains($0) } ?? inputs.contains(input)
                if isOutside, seen.insert(input).inserted { taken.append(input) }
            }
        }
        return taken
    }
}
