/// The added tokens of a file with their ids.
struct AddedVocabulary: Sendable {
    private let ids: TokenTable
    private let original: AddedTokens?
    private let normalized: AddedTokens?

    /// Gives each token its id: that of the model's vocabulary, or the next free one. The ids in the file do not count,
    /// as in the package.
    init(
        _ tokens: [AddedToken], _ model: TokenModel, _ normalizer: Normalizer?, _ table: CharacterTable
    ) throws(TokenizerProblem) {
        var ids = TokenTable(), byID: [UInt32: AddedToken] = [:], next = UInt32(clamping: model.size)
        for token in tokens where !token.content.isEmpty {
            let id = ids.id(of: token.content) ?? model.vocabulary.id(of: token.content) ?? next
            if id == next, model.vocabulary.id(of: token.content) == nil, ids.id(of: token.content) == nil {
                next += 1
            }
            try ids.insert(Array(token.content.utf8), id: id)
            byID[id] = token
        }
        var originals: [(text: [Unicode.Scalar], id: UInt32)] = [], normals = originals
        for (id, token) in byID.sorted(by: { $0.key < $1.key }) {
            guard token.isNormalized else {
                originals.append((Array(token.content.unicodeScalars), id))
                continue
            }
            var state = Normalizer.State(Array(token.content.unicodeScalars), isAtStart: true)
            try normalizer?.normalize(&state, table)
            normals.append((state.text, id))
        }
        self.ids = ids
        original = try AddedTokens(originals, byID)
        normalized = try AddedTokens(normals, byID)
    }

    var highestID: UInt32? { ids.highestID }

    func id(of token: String) -> UInt32? { ids.id(of: token) }

    /// Divides a text at the tokens that are found in it as it is.
    func divideOriginal(_ part: inout TextPart, _ table: CharacterTable) throws(TokenizerProblem) {
        try original?.divide(&part, table)
    }

    /// Divides a normalized text at the tokens that are found there.
    func divideNormalized(_ part: inout TextPart, _ table: CharacterTable) throws(TokenizerProblem) {
        try normalized?.divide(&part, table)
    }
}
