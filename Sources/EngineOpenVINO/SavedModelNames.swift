internal import EngineAPI
package import FileFormats

/// The names of a TensorFlow SavedModel's inputs and outputs that OpenVINO does not report.
///
/// OpenVINO reports the keys of the signature ("image"). TensorIO's bundles name the graph's own tensors
/// ("serving_default_image", "StatefulPartitionedCall", "dense/BiasAdd"), which the signature maps the keys to
/// (tensorflow/core/protobuf/meta_graph.proto, SignatureDef and TensorInfo).
package struct SavedModelNames {
    /// The tensor's name ("dense/BiasAdd:0") for each key, by signature, the served one first.
    private let inputs: [(key: String, tensor: String)], outputs: [(key: String, tensor: String)]

    /// Reads a SavedModel's folder; nil if it is not one. Blocks.
    package init?(folder: String) {
        // Read in parts, because the signatures follow a graph that may contain gigabytes of weights.
        guard let file = try? OpenFile(folder + "/saved_model.pb") else { return nil }
        self.init(ByteSource(count: file.size) { file.bytes($0) })
    }

    /// Reads the message of a `saved_model.pb`. Names in damaged parts are missing.
    package init(_ source: ByteSource) {
        var signatures: [(name: String, content: Range<Int>)] = []
        // SavedModel.meta_graphs = 2, MetaGraphDef.signature_def = 5, a map.
        for graph in Self.parts(2, of: 0..<source.count, source) {
            signatures += Self.parts(5, of: graph, source).compactMap { Self.pair($0, source) }
        }
        func rank(_ name: String) -> Int { name == "serving_default" ? 0 : 1 }
        signatures.sort { (rank($0.name), $0.name) < (rank($1.name), $1.name) }
        inputs = signatures.flatMap { Self.tensors($0.content, field: 1, source) }
        outputs = signatures.flatMap { Self.tensors($0.content, field: 2, source) }
    }

    /// The signature's key for an input that is given by its tensor's name, with or without ":0".
    package func inputKey(of name: String) -> String? { Self.key(of: name, in: inputs) }
    /// The signature's key for an output that is given by its tensor's name.
    package func outputKey(of name: String) -> String? { Self.key(of: name, in: outputs) }

    private static func key(of name: String, in pairs: [(key: String, tensor: String)]) -> String? {
        pairs.first { $0.tensor == name || $0.tensor == name + ":0" }?.key
    }

    /// The entries of SignatureDef.inputs = 1 or outputs = 2; the name is TensorInfo.name = 1.
    private static func tensors(
        _ signature: Range<Int>, field: Int, _ source: ByteSource
    ) -> [(key: String, tensor: String)] {
        parts(field, of: signature, source).compactMap { entry in
            guard let (key, info) = pair(entry, source), let name = parts(1, of: info, source).first,
                let text = text(name, source)
            else { return nil }
            return (key, text)
        }
    }

    /// An entry of a map: key = 1, value = 2.
    private static func pair(_ entry: Range<Int>, _ source: ByteSource) -> (name: String, content: Range<Int>)? {
        guard let key = parts(1, of: entry, source).last, let name = text(key, source),
            let value = parts(2, of: entry, source).last
        else { return nil }
        return (name, value)
    }

    /// The strings or messages of a field, up to the first damaged part of the message.
    private static func parts(_ number: Int, of message: Range<Int>, _ source: ByteSource) -> [Range<Int>] {
        var walk = ProtobufWalk(source, message), parts: [Range<Int>] = []
        while parts.count < maximumParts, let field = try? walk.next() {
            if field.number == number, case .bytes(let range) = field.value { parts.append(range) }
        }
        return parts
    }

    /// The maximum number of parts of one message.
    private static let maximumParts = 10_000

    private static func text(_ range: Range<Int>, _ source: ByteSource) -> String? {
        (try? source.bytes(at: range.lowerBound, count: range.count, maximum: 65_536)).map {
            String(decoding: $0, as: UTF8.self)
        }
    }
}
