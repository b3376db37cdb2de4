internal import JSON

/// Reads the part `normalizer` of a file.
enum NormalizerReader {
    /// The maximum number of characters that a step inserts.
    private static let maximumInsertion = 256
    private static let types = [
        "BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Prepend",
        "Replace", "Sequence", "Strip", "StripAccents",
    ]

    static func read(
        _ part: PartMembers, _ table: CharacterTable, _ left: inout Int
    ) throws(TokenizerProblem) -> Normalizer {
        try part.take(&left)
        switch try part.string("type") {
        case "Sequence":
            var steps: [Normalizer] = []
            for step in try part.objects("normalizers") { steps.append(try read(step, table, &left)) }
            return .sequence(steps)
        case "BertNormalizer":
            let lowercases = try part.bool("lowercase")
            return .bert(
                BertNormalizer(
                    cleansText: try part.bool("clean_text"),
                    separatesChinese: try part.bool("handle_chinese_chars"),
                    stripsAccents: try part.bool("strip_accents", standard: lowercases), lowercases: lowercases))
        case "ByteLevel": return .byteLevel
        case "Lowercase": return .lowercase
        case let type where NormalizationForm(rawValue: type) != nil:
            return .form(NormalizationForm(rawValue: type) ?? .nfc)
        case "Nmt": return .nmt
        case "Precompiled": return try precompiled(part)
        case "Prepend": return .prepend(try insertion("prepend", part))
        case "Replace":
            return .replace(
                try SearchPattern(try part.object("pattern"), table), with: try insertion("content", part))
        case "Strip": return .strip(left: try part.bool("strip_left"), right: try part.bool("strip_right"))
        case "StripAccents": return .stripAccents
        default: throw try part.unsupportedType(types)
        }
    }

    private static func insertion(_ key: String, _ part: PartMembers) throws(TokenizerProblem) -> [Unicode.Scalar] {
        let text = Array(try part.string(key).unicodeScalars)
        guard text.count <= maximumInsertion else {
            throw part.problem(key, "expected at most \(maximumInsertion) characters, found \(text.count)")
        }
        return text
    }

    private static func precompiled(_ part: PartMembers) throws(TokenizerProblem) -> Normalizer {
        let key = "precompiled_charsmap"
        let text = Array(try part.string(key).utf8)
        guard let bytes = text.withUnsafeBytes({ Base64.decode($0) }) else {
            throw part.problem(key, "expected base64, found other text")
        }
        do throws(TokenizerProblem) {
            return .precompiled(try CharacterMap(bytes))
        } catch {
            throw error.located("\(part.path).\(key)")
        }
    }
}
