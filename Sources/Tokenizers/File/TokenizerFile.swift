internal import JSON

/// The parts of a `tokenizer.json`. Members that do not affect ids, such as the decoder, are not read.
struct TokenizerFile {
    /// The maximum size of a file.
    static let maximumSize = 128 << 20

    private(set) var model: TokenModel?
    private(set) var normalizer: Normalizer?
    private(set) var preTokenizer: PreTokenizer?
    private(set) var postProcessor = PostProcessor.none
    private(set) var addedTokens: [AddedToken] = []
    private(set) var truncation: Truncation?
    private(set) var padding: Padding?

    init(_ bytes: [UInt8], _ table: CharacterTable) throws(TokenizerProblem) {
        guard bytes.count <= Self.maximumSize else {
            throw .tooLarge("expected at most \(Self.maximumSize >> 20) MiB, found \(bytes.count >> 20) MiB")
        }
        var parts: [String: JSONValue] = [:]
        var model: TokenModel?
        let failure = bytes.withUnsafeBytes { text -> TokenizerProblem? in
            do throws(TokenizerProblem) {
                model = try Self.members(text, &parts)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
        self.model = model
        try read(parts, table)
    }

    /// Reads the model, and the other members as values.
    private static func members(
        _ text: UnsafeRawBufferPointer, _ parts: inout [String: JSONValue]
    ) throws(TokenizerProblem) -> TokenModel? {
        var scanner = JSONScanner(text, subject: "the file", isFile: true)
        var failure: TokenizerProblem?, model: TokenModel?
        do throws(JSONError) {
            try scanner.object("the file") { (key, scanner) throws(JSONError) in
                do throws(TokenizerProblem) {
                    if key == "model" {
                        model = try ModelReader.read(&scanner)
                    } else if key == "decoder" {
                        try Scanning.checked { () throws(JSONError) in try scanner.skip() }
                    } else {
                        parts[key] = try Scanning.value(&scanner)
                    }
                } catch {
                    failure = error
                    throw .value(error.message)
                }
            }
            try scanner.end()
        } catch {
            throw failure ?? .malformed(error.message)
        }
        return model
    }

    private mutating func read(_ parts: [String: JSONValue], _ table: CharacterTable) throws(TokenizerProblem) {
        func part(_ key: String) throws(TokenizerProblem) -> PartMembers? {
            guard let value = parts[key], value != .null else { return nil }
            return try PartMembers(value, path: key)
        }
        if let version = parts["version"], version != .string("1.0") {
            throw .unsupported("version: expected \"1.0\", found \(version.kind)")
        }
        var steps = PartMembers.maximumSteps
        if let part = try part("normalizer") { normalizer = try NormalizerReader.read(part, table, &steps) }
        if let part = try part("pre_tokenizer") { preTokenizer = try PreTokenizerReader.read(part, table, &steps) }
        if let part = try part("post_processor") { postProcessor = try PostProcessorReader.read(part) }
        if let part = try part("truncation") {
            truncation = try LengthsReader.truncation(part, added: postProcessor.addedCount)
        }
        if let part = try part("padding") { padding = try LengthsReader.padding(part) }
        guard let list = parts["added_tokens"], list != .null else { return }
        let all = try PartMembers(.object(["added_tokens": list]), path: "")
        for (index, token) in try all.array("added_tokens").enumerated() {
            let token = try PartMembers(token, path: "added_tokens[\(index)]")
            addedTokens.append(
                AddedToken(
                    content: try token.string("content"), isNormalized: try token.bool("normalized"),
                    isSingleWord: try token.bool("single_word"), stripsLeft: try token.bool("lstrip"),
                    stripsRight: try token.bool("rstrip"), isSpecial: try token.bool("special")))
        }
    }
}
