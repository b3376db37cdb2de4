internal import JSON

/// Reads the part `model` of a file: its vocabulary and merges directly from the text, because they have hundreds of
/// thousands of entries.
struct ModelReader {
    private var vocabulary = TokenTable()
    /// By index the score of a token of Unigram; nil if the vocabulary is not a list.
    private var scores: [Double]?
    private var hasVocabulary = false
    /// The offset of the merges, which are read when the vocabulary is known.
    private var merges: Int?
    private var others: [String: JSONValue] = [:]

    /// Reads an object.
    static func read(_ scanner: inout JSONScanner) throws(TokenizerProblem) -> TokenModel {
        var reader = ModelReader()
        var failure: TokenizerProblem?
        do throws(JSONError) {
            try scanner.object("\"model\"") { (key, scanner) throws(JSONError) in
                do throws(TokenizerProblem) {
                    try reader.member(key, &scanner)
                } catch {
                    failure = error
                    throw .value(error.message)
                }
            }
        } catch {
            throw failure ?? .malformed(error.message)
        }
        return try reader.model(scanner)
    }

    private mutating func member(_ key: String, _ scanner: inout JSONScanner) throws(TokenizerProblem) {
        switch key {
        case "vocab": try readVocabulary(&scanner)
        case "merges":
            merges = scanner.position
            try Scanning.checked { () throws(JSONError) in try scanner.skip() }
        default: others[key] = try Scanning.value(&scanner)
        }
    }

    private func model(_ scanner: JSONScanner) throws(TokenizerProblem) -> TokenModel {
        let part = try PartMembers(.object(others), path: "model")
        guard hasVocabulary else { throw part.problem("vocab", "expected a vocabulary, found no value") }
        let type = try part.optionalString("type") ?? (scores != nil ? "Unigram" : merges != nil ? "BPE" : "WordPiece")
        guard (type == "Unigram") == (scores != nil) else {
            throw part.problem("vocab", "expected \(type == "Unigram" ? "an array" : "an object") for \(type)")
        }
        switch type {
        case "BPE": return .bpe(try bpe(part, scanner))
        case "Unigram": return .unigram(try unigram(part))
        case "WordLevel": return .wordLevel(WordLevelModel(vocabulary: vocabulary, unknown: try unknown(part)))
        case "WordPiece":
            return .wordPiece(
                WordPieceModel(
                    vocabulary, unknown: try unknown(part), prefix: try part.string("continuing_subword_prefix"),
                    longestWord: try part.integer("max_input_chars_per_word", 0...Int.max)))
        default: throw try part.unsupportedType(["BPE", "Unigram", "WordLevel", "WordPiece"])
        }
    }

    private func unknown(_ part: PartMembers) throws(TokenizerProblem) -> UInt32 {
        let token = try part.string("unk_token")
        guard let id = vocabulary.id(of: token) else {
            throw part.problem("unk_token", "expected a token of the vocabulary, found \"\(token.prefix(60))\"")
        }
        return id
    }

    private func unigram(_ part: PartMembers) throws(TokenizerProblem) -> UnigramModel {
        let scores = scores ?? []
        var unknown: UInt32?
        if part.optional("unk_id") != nil {
            guard !scores.isEmpty else { throw part.problem("vocab", "expected at least one token, found none") }
            unknown = UInt32(try part.integer("unk_id", 0...scores.count - 1))
        }
        return UnigramModel(
            vocabulary, scores: scores, unknown: unknown,
            fallsBackToBytes: try part.bool("byte_fallback", standard: false))
    }

    private func bpe(_ part: PartMembers, _ scanner: JSONScanner) throws(TokenizerProblem) -> BPEModel {
        if let dropout = part.optional("dropout"), dropout.finite != 0 {
            throw TokenizerProblem.unsupported(
                "model.dropout: random merges are not supported; expected null or 0, found \(dropout.kind)")
        }
        var options = BPEModel.Options()
        options.prefix = Array((try part.optionalString("continuing_subword_prefix") ?? "").utf8)
        options.suffix = Array((try part.optionalString("end_of_word_suffix") ?? "").utf8)
        guard max(options.prefix.count, options.suffix.count) <= TokenTable.maximumLength else {
            throw part.problem("continuing_subword_prefix", "expected at most \(TokenTable.maximumLength) bytes")
        }
        options.fusesUnknown = try part.bool("fuse_unk", standard: false)
        options.fallsBackToBytes = try part.bool("byte_fallback", standard: false)
        options.takesWholeWords = try part.bool("ignore_merges", standard: false)
        if let token = try part.optionalString("unk_token") {
            options.unknown = vocabulary.id(of: token)
            options.missingUnknown = options.unknown == nil ? token : nil
        }
        guard let merges else { throw part.problem("merges", "expected an array, found no value") }
        let reader = MergesReader(vocabulary, prefixLength: options.prefix.count)
        return BPEModel(vocabulary, merges: try reader.read(scanner.moved(to: merges)), options)
    }

    // MARK: Vocabulary

    private mutating func readVocabulary(_ scanner: inout JSONScanner) throws(TokenizerProblem) {
        hasVocabulary = true
        if try Scanning.checked({ () throws(JSONError) in try scanner.kind() }) == .array {
            return try readScores(&scanner)
        }
        // A vocabulary has more members than the scanner allows for other objects.
        try Scanning.expect("{", &scanner)
        guard !scanner.take(UInt8(ascii: "}")) else { return }
        repeat {
            let token = try Scanning.checked { () throws(JSONError) in
                try scanner.string("model.vocab: a token")
            }
            try Scanning.expect(":", &scanner)
            let id = try Scanning.checked { () throws(JSONError) in
                try scanner.count("model.vocab: \(TokenTable.shown(token.utf8))", "an id")
            }
            try vocabulary.insert(Array(token.utf8), id: UInt32(clamping: id))
        } while scanner.take(UInt8(ascii: ","))
        try Scanning.expect("}", &scanner)
    }

    /// A score as the package reads it: its JSON library rounds twice, and sums of scores that are equal otherwise
    /// decide.
    private static func score(_ number: JSONNumber, _ scanner: JSONScanner) -> Double? {
        guard (-22 ... -1).contains(number.exponent), let power = Double("1e\(-number.exponent)") else {
            return number.double(in: scanner.text)
        }
        let magnitude = Double(number.mantissa) / power
        return number.isNegative ? -magnitude : magnitude
    }

    private mutating func readScores(_ scanner: inout JSONScanner) throws(TokenizerProblem) {
        var list: [Double] = []
        try Scanning.expect("[", &scanner)
        if !scanner.take(UInt8(ascii: "]")) {
            repeat {
                try Scanning.expect("[", &scanner)
                let token = try Scanning.checked { () throws(JSONError) in
                    try scanner.string("model.vocab[\(list.count)]: a token")
                }
                try Scanning.expect(",", &scanner)
                let score = try Scanning.checked { () throws(JSONError) in try scanner.number() }
                guard let score = Self.score(score, scanner) else {
                    throw TokenizerProblem.malformed("model.vocab[\(list.count)]: expected a score, found infinity")
                }
                try Scanning.expect("]", &scanner)
                try vocabulary.insert(Array(token.utf8), id: UInt32(clamping: list.count))
                guard list.count < TokenTable.maximumTokens else {
                    throw TokenizerProblem.tooLarge(
                        "model.vocab: expected at most \(TokenTable.maximumTokens) tokens, found more")
                }
                list.append(score)
            } while scanner.take(UInt8(ascii: ","))
            try Scanning.expect("]", &scanner)
        }
        scores = list
    }
}

/// Steps of the scanner with this module's error.
enum Scanning {
    static func checked<T>(_ body: () throws(JSONError) -> T) throws(TokenizerProblem) -> T {
        do throws(JSONError) {
            return try body()
        } catch {
            throw .malformed(error.message)
        }
    }

    /// Takes a character of JSON's grammar.
    static func expect(_ character: Unicode.Scalar, _ scanner: inout JSONScanner) throws(TokenizerProblem) {
        guard scanner.take(UInt8(ascii: character)) else {
            throw .malformed(scanner.malformed("\"\(character)\"").message)
        }
    }

    /// Reads any value.
    static func value(_ scanner: inout JSONScanner) throws(TokenizerProblem) -> JSONValue {
        scanner.skipSpace()
        let start = scanner.position
        try checked { () throws(JSONError) in try scanner.skip() }
        do throws(JSONTextError) {
            return try JSONTree.read(Array(scanner.text[start..<scanner.position]), .json).value
        } catch {
            throw .malformed(error.reason)
        }
    }
}
