/// Turns texts into the ids that a model reads, as its `tokenizer.json` states. The ids equal those of the `tokenizers`
/// package 0.23.3 for the same file.
///
/// A value that any number of threads use at the same time, without locks. A text takes linear time, or n log n.
package struct Tokenizer: Sendable {
    /// The truncation and the padding that the file states; nil if it states none.
    package let truncation: Truncation?
    package let padding: Padding?
    /// The number of tokens that are added to each text.
    package let addedCount: Int
    /// The highest id of the vocabulary, the added tokens and the tokens around texts.
    package let highestID: UInt32

    /// The maximum length of a text in UTF-8.
    private static let maximumText = 8 << 20

    private let table: CharacterTable
    private let model: TokenModel
    private let normalizer: Normalizer?
    private let preTokenizer: PreTokenizer?
    private let postProcessor: PostProcessor
    private let added: AddedVocabulary

    /// Reads a `tokenizer.json`.
    /// - Throws: ``TokenizerProblem``, if it is not one, has a part that is not implemented, or exceeds a limit.
    package init(json: [UInt8]) throws(TokenizerProblem) {
        table = CharacterTable.shared
        let file = try TokenizerFile(json, table)
        guard let model = file.model else { throw .malformed("model: expected a model, found no value") }
        self.model = model
        normalizer = file.normalizer
        preTokenizer = file.preTokenizer
        postProcessor = file.postProcessor
        truncation = file.truncation
        padding = file.padding
        addedCount = postProcessor.addedCount
        added = try AddedVocabulary(file.addedTokens, model, normalizer, table)
        var highest = max(model.vocabulary.highestID ?? 0, added.highestID ?? 0)
        for case .special(let special) in postProcessor.parts { highest = max(highest, special.ids.max() ?? 0) }
        highestID = highest
    }

    /// The id of a token, added or of the vocabulary; nil if it is unknown.
    package func id(of token: String) -> UInt32? { added.id(of: token) ?? model.vocabulary.id(of: token) }

    /// The ids of a text.
    /// - Parameters:
    ///   - truncation: the maximum length; nil for any length. It is at least the number of added tokens: a lower one
    ///     leaves out all of the text, but not these.
    ///   - padding: the ids that fill the text up; nil for none.
    /// - Throws: ``TokenizerProblem``, if the vocabulary does not have a part of the text and no token for unknown
    ///   text, or if the text is or becomes too long.
    package func encode(
        _ text: String, truncation: Truncation?, padding: Padding?
    ) throws(TokenizerProblem) -> Encoding {
        var encoding = try encode(text, truncation)
        if let padding { encoding.pad(to: padding.length(longest: encoding.ids.count), padding) }
        return encoding
    }

    /// The ids of a text, with the truncation and the padding of the file.
    package func encode(_ text: String) throws(TokenizerProblem) -> Encoding {
        try encode(text, truncation: truncation, padding: padding)
    }

    /// The ids of the texts of a batch, which padding without a length fills up to the longest one.
    package func encode(
        batch texts: [String], truncation: Truncation?, padding: Padding?
    ) throws(TokenizerProblem) -> [Encoding] {
        var encodings: [Encoding] = []
        for text in texts { encodings.append(try encode(text, truncation)) }
        guard let padding else { return encodings }
        let length = padding.length(longest: encodings.map(\.ids.count).max() ?? 0)
        for index in encodings.indices { encodings[index].pad(to: length, padding) }
        return encodings
    }

    private func encode(_ text: String, _ truncation: Truncation?) throws(TokenizerProblem) -> Encoding {
        guard text.utf8.count <= Self.maximumText else {
            throw .tooLarge("expected a text of at most \(Self.maximumText >> 20) MiB, found \(text.utf8.count) bytes")
        }
        let limit = truncation.map { max($0.maximumLength - addedCount, 0) } ?? Int.max
        var ids: [UInt32] = []
        var first = TextPart(Array(text.unicodeScalars), isAtStart: true)
        try added.divideOriginal(&first, table)
        parts: for piece in first.pieces {
            if let token = piece.token {
                ids.append(token)
                continue
            }
            let part = try divided(first.characters[piece.range], isAtStart: piece.isAtStart)
            for piece in part.pieces {
                // One id more than fits shows that the text is cut.
                if ids.count > limit, truncation?.isLeft == false { break parts }
                if let token = piece.token {
                    ids.append(token)
                } else {
                    try model.encode(part.characters[piece.range], to: &ids)
                }
            }
        }
        guard ids.count > limit else { return postProcessor.encoding(ids, isTruncated: false) }
        let kept = truncation?.isLeft == true ? Array(ids.suffix(limit)) : Array(ids.prefix(limit))
        return postProcessor.encoding(kept, isTruncated: true)
    }

    /// A part of a text, normalized and divided into the pieces that the model encodes.
    private func divided(
        _ text: ArraySlice<Unicode.Scalar>, isAtStart: Bool
    ) throws(TokenizerProblem) -> TextPart {
        var state = Normalizer.State(Array(text), isAtStart: isAtStart)
        try normalizer?.normalize(&state, table)
        var part = TextPart(state.text, isAtStart: state.isAtStart)
        try added.divideNormalized(&part, table)
        try preTokenizer?.divide(&part, table)
        return part
    }
}
