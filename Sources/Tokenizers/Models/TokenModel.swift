/// The part of a tokenizer that makes ids of pieces of text.
enum TokenModel: Sendable {
    case bpe(BPEModel)
    case unigram(UnigramModel)
    case wordLevel(WordLevelModel)
    case wordPiece(WordPieceModel)

    /// Appends the ids of a piece that is not empty.
    func encode(_ text: ArraySlice<Unicode.Scalar>, to ids: inout [UInt32]) throws(TokenizerProblem) {
        switch self {
        case .bpe(let model): try model.encode(text, to: &ids)
        case .unigram(let model): try model.encode(text, to: &ids)
        case .wordLevel(let model): model.encode(text, to: &ids)
        case .wordPiece(let model): model.encode(text, to: &ids)
        }
    }

    /// The tokens with their ids.
    var vocabulary: TokenTable {
        switch self {
        case .bpe(let model): model.vocabulary
        case .unigram(let model): model.vocabulary
        case .wordLevel(let model): model.vocabulary
        case .wordPiece(let model): model.vocabulary
        }
    }

    /// The number of tokens of the file. A token that Unigram has twice counts twice.
    var size: Int {
        if case .unigram(let model) = self { return model.size }
        return vocabulary.count
    }
}

/// One token for each piece.
struct WordLevelModel: Sendable {
    let vocabulary: TokenTable
    let unknown: UInt32

    func encode(_ text: ArraySlice<Unicode.Scalar>, to ids: inout [UInt32]) {
        var bytes: [UInt8] = []
        for character in text { bytes.append(character) }
        ids.append(vocabulary.id(of: bytes) ?? unknown)
    }
}
