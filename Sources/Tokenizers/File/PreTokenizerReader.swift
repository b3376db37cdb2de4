/// Reads the part `pre_tokenizer` of a file.
enum PreTokenizerReader {
    private static let types = [
        "BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "FixedLength", "Metaspace", "Punctuation",
        "Sequence", "Split", "Whitespace", "WhitespaceSplit",
    ]

    static func read(
        _ part: PartMembers, _ table: CharacterTable, _ left: inout Int
    ) throws(TokenizerProblem) -> PreTokenizer {
        try part.take(&left)
        switch try part.string("type") {
        case "Sequence":
            var steps: [PreTokenizer] = []
            for step in try part.objects("pretokenizers") { steps.append(try read(step, table, &left)) }
            return .sequence(steps)
        case "BertPreTokenizer": return .bert
        case "ByteLevel":
            let splits = try part.bool("use_regex", standard: true)
            return .byteLevel(
                addsSpace: try part.bool("add_prefix_space"),
                splitter: splits ? try PatternProgram(PreTokenizer.byteLevelPattern, table) : nil)
        case "CharDelimiterSplit": return .delimiter(try part.character("delimiter"))
        case "Digits": return .digits(areIndividual: try part.bool("individual_digits"))
        case "FixedLength":
            return .fixedLength(part.optional("length") == nil ? 5 : try part.integer("length", 1...Int(Int32.max)))
        case "Metaspace": return try metaspace(part)
        case "Punctuation": return .punctuation(try part.choice("behavior", standard: .isolated))
        case "Split":
            return .split(
                try SearchPattern(try part.object("pattern"), table), try part.choice("behavior"),
                isInverted: try part.bool("invert"))
        case "Whitespace": return .whitespace
        case "WhitespaceSplit": return .whitespaceSplit
        default: throw try part.unsupportedType(types)
        }
    }

    private static func metaspace(_ part: PartMembers) throws(TokenizerProblem) -> PreTokenizer {
        var prepending: PreTokenizer.Prepending = try part.choice("prepend_scheme", standard: .always)
        if try !part.bool("add_prefix_space", standard: true) {
            // Older files have only this member.
            guard part.optional("prepend_scheme") == nil || prepending == .never else {
                throw part.problem(
                    "add_prefix_space", "expected true with \"prepend_scheme\": \"\(prepending.rawValue)\", found false"
                )
            }
            prepending = .never
        }
        return .metaspace(
            try part.character("replacement"), prepending: prepending, splits: try part.bool("split", standard: true))
    }
}
