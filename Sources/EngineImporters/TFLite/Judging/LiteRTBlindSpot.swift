internal import FileFormats

/// A reason that LiteRT's answers for a file prove nothing about those of another engine, found in the file. Measured
/// with LiteRT 2.3.
package struct LiteRTBlindSpot: Sendable, Hashable {
    /// A clause: "its operator CONV_2D has a fused TANH, which LiteRT ignores".
    package let reason: String
    /// The index of the operator in the main subgraph; nil if no operator of it is the reason.
    package let operatorIndex: Int?
    /// True if the answers prove nothing only where a float is outside of the range of an integer type.
    package let isForValuesOutOfRange: Bool

    private init(_ reason: String, at operatorIndex: Int?, isForValuesOutOfRange: Bool = false) {
        self.reason = reason
        self.operatorIndex = operatorIndex
        self.isForValuesOutOfRange = isForValuesOutOfRange
    }

    /// The reasons in a file, in the order of its operators.
    package static func all(in file: [UInt8]) throws(JudgingError) -> [LiteRTBlindSpot] {
        let graphs = try JudgingError.reading(try TFLiteGraph.graphs(of: file, maximum: 1_024))
        guard let main = graphs.first else { return [] }
        var found = ofPorts(main)
        found += try ofOperators(main, KnownValues(main), Array(main.operators.indices), main.outputs)
        for graph in graphs.dropFirst() {
            let inner = try ofOperators(graph, KnownValues(graph), Array(graph.operators.indices), [])
            found += inner.map {
                LiteRTBlindSpot($0.reason, at: nil, isForValuesOutOfRange: $0.isForValuesOutOfRange)
            }
        }
        return found
    }

    /// The reasons in some operators of a subgraph that has these outputs.
    static func ofOperators(
        _ graph: TFLiteGraph, _ values: KnownValues, _ operators: [Int], _ outputs: [Int]
    ) throws(JudgingError) -> [LiteRTBlindSpot] {
        var found: [LiteRTBlindSpot] = []
        let outputs = Set(outputs)
        for index in operators where graph.operators.indices.contains(index) {
            let node = graph.operators[index], name = graph.name(of: node)
            if let activation = try activation(of: node) {
                found.append(
                    LiteRTBlindSpot(
                        "its operator \(name) has a fused \(activation), which LiteRT ignores", at: index))
            }
            if TFLiteTraits.random.contains(node.code) {
                found.append(LiteRTBlindSpot("its operator \(name) has random results", at: index))
            }
            if TFLiteTraits.stateful.contains(node.code) {
                found.append(
                    LiteRTBlindSpot("its operator \(name) keeps values from one run to the next", at: index))
            }
            if let output = node.outputs.first(where: outputs.contains), graph.hasComputedShape(node, values) {
                found.append(
                    LiteRTBlindSpot(
                        "its operator \(name) computes the shape of output \(graph.quotedName(output)), which LiteRT does not write in the first run",
                        at: index))
            }
            if graph.castsFloatsToIntegers(node) {
                found.append(
                    LiteRTBlindSpot(
                        "its operator \(name) converts floats to integers, which is not defined for values out of range",
                        at: index, isForValuesOutOfRange: true))
            }
        }
        return found
    }

    /// The reasons in the lists of inputs and outputs.
    private static func ofPorts(_ graph: TFLiteGraph) -> [LiteRTBlindSpot] {
        var found: [LiteRTBlindSpot] = []
        var seen: Set<Int> = [], reported: Set<Int> = []
        let inputs = Set(graph.inputs)
        for output in graph.outputs where !seen.insert(output).inserted && reported.insert(output).inserted {
            found.append(LiteRTBlindSpot("its output \(graph.quotedName(output)) is listed twice", at: nil))
        }
        for output in seen.sorted() where inputs.contains(output) {
            found.append(LiteRTBlindSpot("its output \(graph.quotedName(output)) is one of its inputs", at: nil))
        }
        for input in inputs.sorted() {
            guard let producer = graph.producers[input] else { continue }
            let name = graph.name(of: graph.operators[producer])
            found.append(
                LiteRTBlindSpot("its operator \(name) overwrites the input \(graph.quotedName(input))", at: producer))
        }
        return found
    }

    /// The name of an operator's fused activation that LiteRT does not apply; nil if it applies it. Recurrent operators
    /// apply it themselves.
    private static func activation(of node: TFLiteGraph.Operator) throws(JudgingError) -> String? {
        guard !TFLiteTraits.recurrent.contains(node.code),
            let type = try JudgingError.reading(try node.table.number(3, UInt8.self)),
            let field = TFLiteTraits.activationFields[type],
            let options = try JudgingError.reading(try node.table.table(4)),
            let activation = try JudgingError.reading(try options.number(field, UInt8.self))
        else { return nil }
        // NONE, RELU, RELU_N1_TO_1 and RELU6 come before them.
        return activation < 4 ? nil : [4: "TANH", 5: "SIGN_BIT"][activation] ?? "activation \(activation)"
    }
}

extension TFLiteGraph {
    /// The name of a tensor for messages, or its number if it has no name.
    func quotedName(_ tensor: Int) -> String {
        let name = (try? TFLiteNames.bytes(ofTensor: tensors[tensor].table)) ?? []
        return name.isEmpty ? "\(tensor)" : "\"\(String(decoding: name.prefix(256), as: UTF8.self))\""
    }
}
