package import FoundationEssentials

/// The names of a TensorFlow SavedModel's inputs and outputs that OpenVINO does not report.
///
/// OpenVINO reports the keys of the signature ("image"). TensorIO's bundles name the graph's own tensors
/// ("serving_default_image", "StatefulPartitionedCall", "dense/BiasAdd"), which the signature maps the keys to
/// (tensorflow/core/protobuf/meta_graph.proto, SignatureDef and TensorInfo).
package struct SavedModelNames {
    /// The tensor's name ("dense/BiasAdd:0") of each key, signature by signature, the one that is served first.
    private let inputs: [(key: String, tensor: String)], outputs: [(key: String, tensor: String)]

    /// Reads a SavedModel's folder; nil if it is none. Blocks.
    package init?(folder: String) {
        let file = URL(fileURLWithPath: folder + "/saved_model.pb")
        // Mapped: what is wanted lies behind a graph that may hold gigabytes of weights.
        guard (try? OpenFile(file.path)) != nil, let data = try? Data(contentsOf: file, options: .mappedIfSafe) else {
            return nil
        }
        self.init(message: data)
    }

    /// Reads the message of a `saved_model.pb`.
    package init(message: Data) {
        var signatures: [(name: String, content: Data)] = []
        // SavedModel.meta_graphs = 2, MetaGraphDef.signature_def = 5, a map.
        for (number, graph) in ProtobufFields(message) where number == 2 {
            for (number, entry) in ProtobufFields(graph) where number == 5 {
                if let pair = Self.pair(entry) { signatures.append(pair) }
            }
        }
        func rank(_ name: String) -> Int { name == "serving_default" ? 0 : 1 }
        signatures.sort { (rank($0.name), $0.name) < (rank($1.name), $1.name) }
        inputs = signatures.flatMap { Self.tensors($0.content, field: 1) }
        outputs = signatures.flatMap { Self.tensors($0.content, field: 2) }
    }

    /// The signature's key for an input that is called by its tensor's name, with or without ":0".
    package func inputKey(of name: String) -> String? { Self.key(of: name, in: inputs) }
    /// The same for an output.
    package func outputKey(of name: String) -> String? { Self.key(of: name, in: outputs) }

    private static func key(of name: String, in pairs: [(key: String, tensor: String)]) -> String? {
        pairs.first { $0.tensor == name || $0.tensor == name + ":0" }?.key
    }

    /// The entries of SignatureDef.inputs = 1 or outputs = 2; the name is TensorInfo.name = 1.
    private static func tensors(_ signature: Data, field: UInt64) -> [(key: String, tensor: String)] {
        ProtobufFields(signature).filter { $0.number == field }.compactMap { entry in
            guard let (key, info) = pair(entry.content),
                let name = ProtobufFields(info).first(where: { $0.number == 1 })
            else { return nil }
            return (key, String(decoding: name.content, as: UTF8.self))
        }
    }

    /// A map's entry: key = 1, value = 2.
    private static func pair(_ entry: Data) -> (name: String, content: Data)? {
        var key: String?, value: Data?
        for (number, content) in ProtobufFields(entry) {
            if number == 1 { key = String(decoding: content, as: UTF8.self) }
            if number == 2 { value = content }
        }
        guard let key, let value else { return nil }
        return (key, value)
    }
}
