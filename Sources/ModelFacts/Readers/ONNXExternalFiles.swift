package import FileFormats

/// The files that an ONNX file (onnx.proto) names for values of its tensors: TensorProto.external_data. Weights are
/// skipped.
package enum ONNXExternalFiles {
    private static let externalData = 13
    private static let deepest = 32, maximum = 1_000

    /// The names, relative to the file's folder; for a damaged file those before the damage.
    package static func names(_ source: ByteSource) -> Set<String> {
        var names: Set<String> = []
        // The engine reports the damage.
        try? collect(0..<source.count, of: source, .model, depth: 0, &names)
        return names
    }

    private static func collect(
        _ range: Range<Int>, of source: ByteSource, _ message: ONNXMessage, depth: Int, _ names: inout Set<String>
    ) throws(FormatError) {
        guard depth < deepest else { return }
        var walk = ProtobufWalk(source, range)
        while names.count < maximum, let field = try walk.next() {
            guard case .bytes(let part) = field.value else { continue }
            if message == .tensor, field.number == externalData {
                if let name = try location(part, source) { names.insert(name) }
            } else if let member = message.member(field.number) {
                try collect(part, of: source, member, depth: depth + 1, &names)
            }
        }
    }

    /// The file name in an entry. StringStringEntryProto: key = 1, value = 2.
    private static func location(_ entry: Range<Int>, _ source: ByteSource) throws(FormatError) -> String? {
        var key = "", value = ""
        var walk = ProtobufWalk(source, entry)
        while let field = try walk.next() {
            guard case .bytes(let part) = field.value else { continue }
            let text = String(decoding: try source.bytes(at: part.lowerBound, count: part.count), as: UTF8.self)
            if field.number == 1 { key = text }
            if field.number == 2 { value = text }
        }
        return key == "location" ? value : nil
    }
}
