/// A part of a text on its way to the model: characters, which steps change, in pieces, which steps divide.
struct TextPart: Sendable {
    /// A piece of the characters.
    struct Piece: Sendable {
        var range: Range<Int>
        /// The id of an added token that the piece is; nil for text.
        var token: UInt32?
        /// True if the piece begins where the original text begins.
        var isAtStart: Bool
    }

    var characters: [Unicode.Scalar]
    var pieces: [Piece]
    /// The maximum number of characters: steps must not make a long text of a short one again and again.
    let limit: Int

    /// A text as one piece; an empty one has none.
    init(_ characters: [Unicode.Scalar], isAtStart: Bool) {
        self.characters = characters
        let all = Piece(range: 0..<characters.count, token: nil, isAtStart: isAtStart)
        pieces = characters.isEmpty ? [] : [all]
        limit = 4_096 + 16 * characters.count
    }

    /// No text, to append to.
    private init(limit: Int) {
        characters = []
        pieces = []
        self.limit = limit
    }

    /// Divides each piece of text into others.
    mutating func divide(
        _ division: (Piece, inout [Piece]) throws(TokenizerProblem) -> Void
    ) throws(TokenizerProblem) {
        var divided: [Piece] = []
        divided.reserveCapacity(pieces.count)
        for piece in pieces {
            if piece.token == nil { try division(piece, &divided) } else { divided.append(piece) }
        }
        pieces = divided
    }

    /// Rewrites the characters of each piece of text.
    func rewritten(_ rewrite: (Piece, inout [Unicode.Scalar]) -> Void) -> TextPart {
        var result = TextPart(limit: limit)
        result.characters.reserveCapacity(characters.count + pieces.count)
        result.pieces.reserveCapacity(pieces.count)
        for piece in pieces {
            let start = result.characters.count
            if piece.token == nil { rewrite(piece, &result.characters) }
            var new = piece
            new.range = start..<result.characters.count
            if piece.token != nil || !new.range.isEmpty { result.pieces.append(new) }
        }
        return result
    }
}
