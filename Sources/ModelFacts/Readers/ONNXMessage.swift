/// The messages of an ONNX file (onnx.proto) that contain nodes or tensors.
package enum ONNXMessage: Sendable {
    case model, graph, function, node, attribute, tensor, sparseTensor

    /// True if the message may contain nodes, at any depth.
    package var hasNodes: Bool { self != .tensor && self != .sparseTensor }

    /// The message type of a field; nil for fields without nodes or tensors.
    package func member(_ number: Int) -> ONNXMessage? {
        switch (self, number) {
        case (.model, 7), (.attribute, 6), (.attribute, 11): .graph
        case (.model, 25): .function
        case (.graph, 1), (.function, 7): .node
        case (.node, 5): .attribute
        case (.graph, 5), (.attribute, 5), (.attribute, 10), (.sparseTensor, 1), (.sparseTensor, 2): .tensor
        case (.graph, 15), (.attribute, 22), (.attribute, 23): .sparseTensor
        default: nil
        }
    }
}
