internal import FileFormats

/// Splits a TensorFlow Lite file with NON_MAX_SUPPRESSION_V4 or V5 among its operators, which the engine does not
/// support, into a file up to that operator and a file of the operators after it.
///
/// Source: TensorFlow Lite's schema.fbs (field numbers), and the operators' documented inputs and outputs.
package struct SuppressionSplit {
    /// The suppression that the operator performs.
    let suppression: NonMaxSuppression
    /// The quantization of boxes and scores; nil if they are not quantized.
    let quantization: [DetectionOperator.Quantization?]
    /// The file without the operator and its dependents. Its outputs: boxes, scores, then other values that the second
    /// file needs, then the file's own outputs that do not depend on the operator.
    package let front: [UInt8]
    /// The names of the outputs of `front`.
    let frontOutputs: [String]
    /// The part of the graph that depends on the operator, as a file whose inputs are `sources`; nil if no output
    /// depends on it.
    package let back: [UInt8]?
    /// The name and the source of each input of the second file.
    let sources: [(name: String, value: Value)]
    /// The names and the sources of the outputs of the file.
    let outputs: [(name: String, value: Value)]

    /// A tensor that is passed on.
    enum Value: Sendable, Hashable {
        /// An input of the file.
        case input(Int)
        /// An output of the first file.
        case front(Int)
        /// The operator's outputs: indices, scores (V5 only), count.
        case indices, scores, count
        /// An output of the second file.
        case back(Int)
    }

    private static let codes = [120: "NON_MAX_SUPPRESSION_V4", 121: "NON_MAX_SUPPRESSION_V5"]
    private static let maximumSelected = 100_000, maximumBoxes = 1 << 20

    /// Splits at the first such operator; nil if the file contains none of them.
    /// - Throws: if the file contains the operator in an unsupported form.
    ///
    /// Long: one walk over the graph; its steps share what they have found.
    package init?(_ file: [UInt8]) throws(DetectionOperator.Unreadable) {
        guard Self.mentions(file) else { return nil }
        guard let graph = TFLiteGraph(file) else {
            throw DetectionOperator.Unreadable(
                reason:
                    "it has NON_MAX_SUPPRESSION in a form that is not supported: expected one subgraph, without loops")
        }
        guard let place = graph.operators.firstIndex(where: { Self.codes[$0.code] != nil }) else { return nil }
        let node = graph.operators[place], isSoft = node.code == 121
        let name = Self.codes[node.code] ?? ""
        guard node.inputs.count == (isSoft ? 6 : 5), node.outputs.count == (isSoft ? 3 : 2),
            node.inputs.allSatisfy(graph.tensors.indices.contains)
        else {
            throw DetectionOperator.Unreadable(
                reason: "\(name) has \(node.inputs.count) inputs and \(node.outputs.count) outputs")
        }
        let boxes = graph.tensors[node.inputs[0]], scores = graph.tensors[node.inputs[1]]
        guard boxes.shape.count == 2, boxes.shape[1] == 4, scores.shape == [boxes.shape[0]],
            (1...Self.maximumBoxes).contains(boxes.shape[0])
        else {
            throw DetectionOperator.Unreadable(
                reason: "\(name) takes boxes of \(boxes.shape) and scores of \(scores.shape): expected [n, 4] and [n]")
        }
        func constant(_ index: Int, _ what: String) throws(DetectionOperator.Unreadable) -> [UInt8] {
            guard let bytes = Self.bytes(of: node.inputs[index], graph), bytes.count == 4 else {
                throw DetectionOperator.Unreadable(
                    reason: "\(name) takes its \(what) from a computation: expected a constant")
            }
            return Array(bytes)
        }
        func bits(_ bytes: [UInt8]) -> UInt32 { bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) } }
        let maximum = Int(Int32(bitPattern: bits(try constant(2, "number of boxes"))))
        guard (1...Self.maximumSelected).contains(maximum) else {
            throw DetectionOperator.Unreadable(
                reason: "\(name) gives \(maximum) boxes: expected 1 to \(Self.maximumSelected)")
        }
        suppression = NonMaxSuppression(
            maximum: maximum, iou: Float(bitPattern: bits(try constant(3, "overlap"))),
            threshold: Float(bitPattern: bits(try constant(4, "least score"))),
            sigma: isSoft ? Float(bitPattern: bits(try constant(5, "sigma"))) : 0)
        quantization = [boxes, scores].map { DetectionOperator.quantization(of: $0.table) }

        // Collect the operators that depend on the suppression, and the other values that they use.
        var late = Set(node.outputs), lateOperators: [Int] = []
        for (index, other) in graph.operators.enumerated() where index != place {
            guard other.inputs.contains(where: late.contains) else { continue }
            lateOperators.append(index)
            late.formUnion(other.outputs)
        }
        let lateOnes = Set(lateOperators)
        let own: [Int: Value] =
            isSoft
            ? [node.outputs[0]: .indices, node.outputs[1]: .scores, node.outputs[2]: .count]
            : [node.outputs[0]: .indices, node.outputs[1]: .count]
        var given = [node.inputs[0], node.inputs[1]]
        var sources: [(tensor: Int, value: Value)] = []
        func frontValue(_ tensor: Int) -> Value {
            if let input = graph.inputs.firstIndex(of: tensor) { return .input(input) }
            if let index = given.firstIndex(of: tensor) { return .front(index) }
            given.append(tensor)
            return .front(given.count - 1)
        }
        for index in lateOperators {
            for tensor in graph.operators[index].inputs where tensor >= 0 {
                guard !sources.contains(where: { $0.tensor == tensor }) else { continue }
                if let value = own[tensor] {
                    sources.append((tensor, value))
                } else if !late.contains(tensor), Self.bytes(of: tensor, graph) == nil {
                    sources.append((tensor, frontValue(tensor)))
                }
            }
        }
        var backOutputs: [Int] = []
        var outputs: [Value] = []
        for tensor in graph.outputs {
            if let value = own[tensor] {
                outputs.append(value)
            } else if late.contains(tensor) {
                if !backOutputs.contains(tensor) { backOutputs.append(tensor) }
                outputs.append(.back(backOutputs.firstIndex(of: tensor) ?? 0))
            } else {
                outputs.append(frontValue(tensor))
            }
        }
        self.outputs = zip(graph.outputs, outputs).map { (graph.name(of: $0), $1) }
        self.sources = sources.map { (graph.name(of: $0.tensor), $0.value) }
        frontOutputs = given.map(graph.name)
        let early = graph.operators.indices.filter { $0 != place && !lateOnes.contains($0) }
        front = try Self.file(file, graph, keeping: early, inputs: nil, outputs: given)
        back =
            backOutputs.isEmpty
            ? nil
            : try Self.file(file, graph, keeping: lateOperators, inputs: sources.map(\.tensor), outputs: backOutputs)
    }

    /// True if any subgraph uses one of these operators.
    private static func mentions(_ file: [UInt8]) -> Bool {
        let codes = try? FlatBuffer(ByteSource(file), identifier: "TFL3").root().tables(1)
        return (codes ?? []).contains { Self.codes[TFLiteGraph.code($0)] != nil }
    }

    /// The bytes of a constant; nil if the tensor is not constant.
    private static func bytes(of tensor: Int, _ graph: TFLiteGraph) -> ArraySlice<UInt8>? {
        guard graph.tensors.indices.contains(tensor), graph.producers[tensor] == nil, !graph.inputs.contains(tensor),
            graph.buffers.indices.contains(graph.tensors[tensor].buffer),
            let data = try? graph.buffers[graph.tensors[tensor].buffer].bytes(0), !data.isEmpty
        else { return nil }
        return data
    }

    /// The file with a subset of its operators, and with other inputs and outputs. Only offsets are moved: the lists of
    /// tensors are appended to the file.
    private static func file(
        _ bytes: [UInt8], _ graph: TFLiteGraph, keeping operators: [Int], inputs: [Int]?, outputs: [Int]
    ) throws(DetectionOperator.Unreadable) -> [UInt8] {
        var file = bytes
        func write(_ value: UInt32, at place: Int) {
            for index in 0..<4 { file[place + index] = UInt8(truncatingIfNeeded: value >> (8 * UInt32(index))) }
        }
        guard let list = try? graph.subgraph.vector(3, elementBytes: 4), !operators.isEmpty else {
            throw DetectionOperator.Unreadable(reason: "the file has no operators before its suppression")
        }
        // Offsets are relative to their own position.
        for (new, old) in operators.enumerated() {
            let place = list.start + 4 * new
            write(UInt32(truncatingIfNeeded: graph.operators[old].table.place - place), at: place)
        }
        write(UInt32(operators.count), at: list.start - 4)
        for (field, tensors) in [(1, inputs), (2, outputs)] {
            guard let tensors else { continue }
            guard let place = try? graph.subgraph.field(field) else {
                throw DetectionOperator.Unreadable(reason: "the file has no lists of inputs and outputs")
            }
            while file.count % 4 != 0 { file.append(0) }
            guard let distance = UInt32(exactly: file.count - place) else {
                throw DetectionOperator.Unreadable(reason: "the file is too large")
            }
            write(distance, at: place)
            for value in [tensors.count] + tensors {
                let bits = UInt32(bitPattern: Int32(truncatingIfNeeded: value))
                file += (0..<4).map { UInt8(truncatingIfNeeded: bits >> (8 * UInt32($0))) }
            }
        }
        // Removed, because signatures name inputs and outputs that no longer exist.
        if let signatures = try? graph.model.vector(7, elementBytes: 4) { write(0, at: signatures.start - 4) }
        return file
    }
}

extension TFLiteGraph {
    fileprivate func name(of tensor: Int) -> String {
        tensors.indices.contains(tensor) ? (try? tensors[tensor].table.text(3, maximum: 4_096)) ?? "" : ""
    }
}
