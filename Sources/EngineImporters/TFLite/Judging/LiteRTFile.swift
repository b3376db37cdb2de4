internal import FileFormats

/// Makes a TensorFlow Lite file one that LiteRT may be given, or finds the reason that it may not.
///
/// LiteRT 2.3 crashes on some files instead of refusing them: on a file without subgraphs, and on two inputs or two
/// outputs with the same name. It knows inputs and outputs by the signatures of a file. Without them, it makes a
/// signature with the inputs and outputs of the main subgraph in their order.
package enum LiteRTFile {
    /// The most axes of a tensor that LiteRT reads.
    private static let maximumAxes = 8
    private static let maximumSubgraphs = 1_024
    private static let maximumPorts = 4_096

    /// The bytes for LiteRT: the file without its signatures. They are copied only if there are signatures and the
    /// caller keeps the array.
    /// - Throws: the reason that LiteRT crashes on the file or refuses it.
    package static func bytes(of file: consuming [UInt8]) throws(JudgingError) -> [UInt8] {
        let signatures = try checked(file)
        var bytes = consume file
        // Only the length changes; the list stays.
        if let signatures { for place in signatures..<signatures + 4 { bytes[place] = 0 } }
        return bytes
    }

    /// The position of the length of the list of signatures; nil if the file has no such list.
    private static func checked(_ file: [UInt8]) throws(JudgingError) -> Int? {
        let model = try JudgingError.reading(try FlatBuffer(ByteSource(file), identifier: "TFL3").root())
        let graphs = try JudgingError.reading(try model.tables(2, maximum: maximumSubgraphs)) ?? []
        guard let main = graphs.first else { throw JudgingError("it has no subgraph") }
        guard try JudgingError.reading(try model.count(9)) == 0 else {
            throw JudgingError("it has weights in other files, which LiteRT does not get")
        }
        for graph in graphs { try check(graph, of: model) }
        try checkNames(1, "inputs", of: main)
        try checkNames(2, "outputs", of: main)
        return try JudgingError.reading(try model.vector(7, elementBytes: 4)).map { $0.start - 4 }
    }

    /// Checks the tensors of a subgraph.
    private static func check(_ graph: FlatBuffer.Table, of model: FlatBuffer.Table) throws(JudgingError) {
        let tensors = try JudgingError.reading(try graph.tables(0, maximum: FlatBuffer.maximumTables)) ?? []
        for (index, tensor) in tensors.enumerated() {
            let axes = try JudgingError.reading(try tensor.vector(0, elementBytes: 4))?.count ?? 0
            guard axes <= maximumAxes else {
                throw JudgingError("it has a tensor with \(axes) axes; LiteRT reads at most \(maximumAxes)")
            }
            guard try JudgingError.reading(try tensor.number(5, UInt8.self)) ?? 0 == 0 else {
                let owner = try user(of: index, graph, model).map { "operator \($0)" } ?? "tensor \(index)"
                throw JudgingError("its \(owner) keeps state between runs, which neither engine supports")
            }
        }
    }

    /// The name of the first operator that takes a tensor; nil if no operator takes it.
    private static func user(
        of tensor: Int, _ graph: FlatBuffer.Table, _ model: FlatBuffer.Table
    ) throws(JudgingError) -> String? {
        let operators = try JudgingError.reading(try graph.tables(3, maximum: FlatBuffer.maximumTables)) ?? []
        for node in operators.prefix(maximumPorts) {
            let taken = try JudgingError.reading(try node.integers(1, maximum: maximumPorts)) ?? []
            guard taken.contains(tensor) else { continue }
            let index = Int(try JudgingError.reading(try node.number(0, UInt32.self)) ?? 0)
            return try JudgingError.reading(try model.element(1, index)).map {
                TFLiteNames.name(ofCode: $0)
            }
        }
        return nil
    }

    /// Checks that no two different tensors of a list have the same name. LiteRT itself names tensors without a name.
    private static func checkNames(
        _ field: Int, _ words: String, of graph: FlatBuffer.Table
    ) throws(JudgingError) {
        let list = try JudgingError.reading(try graph.integers(field, maximum: maximumPorts)) ?? []
        var tensors: [ArraySlice<UInt8>: Int] = [:]
        for index in list {
            guard let tensor = try JudgingError.reading(try graph.element(0, index, maximum: FlatBuffer.maximumTables))
            else { throw JudgingError("it refers to tensor \(index), which does not exist") }
            let name = try JudgingError.reading(try TFLiteNames.bytes(ofTensor: tensor))
            if let other = tensors[name], other != index, !name.isEmpty {
                throw JudgingError("two of its \(words) are named \"\(String(decoding: name, as: UTF8.self))\"")
            }
            tensors[name] = index
        }
    }
}
