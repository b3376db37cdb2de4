internal import CONNXRuntime
internal import EngineAPI
internal import FileFormats
internal import ModelFacts

/// Replaces the locale of ONNX's StringNormalizer. The default is en_US.UTF-8, which minimal systems lack, so that the
/// file would not load. Such nodes get C.UTF-8, which every system has; both convert letters of all scripts to upper
/// and lower case in the same way.
package enum StringLocale {
    static let operation = "StringNormalizer"
    private static let usual = "en_US.UTF-8", replacement = "C.UTF-8"
    private static let deepest = 32

    /// The file with locales that this system has; nil if it needs no change.
    /// - Parameter hasLocale: whether the system has a locale.
    package static func replaced(in file: [UInt8], hasLocale: @escaping (String) -> Bool = Self.isInstalled) -> [UInt8]?
    {
        let rewriter = Rewriter(file: file, source: ByteSource(file), hasLocale: hasLocale)
        // The engine reports damage.
        return try? rewriter.message(.model, 0..<file.count, depth: 0)
    }

    /// True if the system has a locale.
    package static func isInstalled(_ name: String) -> Bool {
        ort_has_locale(name)
    }

    private struct Rewriter {
        let file: [UInt8]
        let source: ByteSource
        let hasLocale: (String) -> Bool

        /// A message with its changes; nil if it has no changes.
        func message(_ kind: ONNXMessage, _ range: Range<Int>, depth: Int) throws(FormatError) -> [UInt8]? {
            guard depth < deepest else { return nil }
            var result: [UInt8] = []
            var copied = range.lowerBound, place = range.lowerBound
            var walk = ProtobufWalk(source, range)
            while let field = try walk.next() {
                defer { place = field.end }
                guard let member = kind.member(field.number), member.hasNodes, case .bytes(let part) = field.value,
                    let changed = try message(member, part, depth: depth + 1)
                else { continue }
                result += file[copied..<place]
                result += Self.field(field.number, changed)
                copied = field.end
            }
            if kind == .node, let locale = try missingLocale(range) {
                // The engine refuses two attributes with the same name, so the old one is removed.
                if let old = locale.place {
                    result += file[copied..<old.lowerBound]
                    copied = old.upperBound
                }
                result += file[copied..<range.upperBound]
                return result + Self.field(5, Self.attribute)
            }
            guard !result.isEmpty else { return nil }
            return result + file[copied..<range.upperBound]
        }

        /// The range of a node's attribute with a locale that the system lacks (nil if the attribute is missing); nil
        /// if the node needs no change.
        private func missingLocale(_ range: Range<Int>) throws(FormatError) -> (place: Range<Int>?, Void)? {
            let node = try ONNXGraph.node(range, source)
            guard node.operation == operation else { return nil }
            var walk = ProtobufWalk(source, range)
            var place = range.lowerBound
            while let field = try walk.next() {
                defer { place = field.end }
                guard field.number == 5, case .bytes(let part) = field.value else { continue }
                let attribute = try ONNXGraph.attribute(part, source)
                guard attribute.name == "locale" else { continue }
                return hasLocale(attribute.text ?? "") ? nil : (place..<field.end, ())
            }
            return hasLocale(usual) ? nil : (nil, ())
        }

        /// The new attribute. AttributeProto: name = 1, s = 4, type = 20 (STRING is 3).
        private static let attribute =
            field(1, Array("locale".utf8)) + field(4, Array(replacement.utf8)) + varint(20 << 3) + [3]

        private static func field(_ number: Int, _ bytes: [UInt8]) -> [UInt8] {
            varint(UInt64(number) << 3 | 2) + varint(UInt64(bytes.count)) + bytes
        }

        private static func varint(_ value: UInt64) -> [UInt8] {
            var bytes: [UInt8] = [], rest = value
            while rest >= 0x80 {
                bytes.append(UInt8(rest & 0x7F) | 0x80)
                rest >>= 7
            }
            return bytes + [UInt8(rest)]
        }
    }
}
