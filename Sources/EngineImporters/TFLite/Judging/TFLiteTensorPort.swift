internal import FileFormats

/// A tensor that enters or leaves a part of a TensorFlow Lite file.
package struct TFLiteTensorPort: Sendable, Hashable {
    /// The index of the tensor in the main subgraph, which is the same in all parts of the file.
    package let tensor: Int
    /// The name in the part; no other input or output of the part has it.
    package let name: String

    /// - Throws: if the values of the tensor cannot be passed on: strings, resources, packed numbers.
    init(_ tensor: Int, name: String, of graph: TFLiteGraph) throws(JudgingError) {
        guard Self.types.contains(graph.tensors[tensor].type) else {
            throw JudgingError("its tensor \(graph.quotedName(tensor)) has a type that cannot be passed on")
        }
        self.tensor = tensor
        self.name = name
    }

    /// The codes of FLOAT32, FLOAT16, INT32, UINT8, INT64, BOOL, INT16, INT8, FLOAT64, UINT64, UINT32, UINT16 and
    /// BFLOAT16 (TensorType in schema.fbs).
    private static let types: Set<UInt8> = [0, 1, 2, 3, 4, 6, 7, 9, 10, 12, 15, 16, 18]
}
