/// A token that is found in the text before the model sees it.
struct AddedToken: Sendable, Hashable {
    let content: String
    /// True if it is found in the normalized text, in its own normalized form.
    let isNormalized: Bool
    /// True if no word character may be next to it.
    let isSingleWord: Bool
    /// True if white space before it, or after it, belongs to it.
    let stripsLeft: Bool
    let stripsRight: Bool
    let isSpecial: Bool
}

/// Added tokens of one kind: those of the text, or those of the normalized text.
struct AddedTokens: Sendable {
    private let trie: PrefixTrie
    private let tokens: [UInt32: AddedToken]
    /// False if no token begins with an ASCII character other than these bits: most texts are passed quickly.
    private let first: (low: UInt64, high: UInt64)

    /// Nil if no token is given.
    /// - Parameter forms: the text by which each token is found, with its id.
    init?(_ forms: [(text: [Unicode.Scalar], id: UInt32)], _ tokens: [UInt32: AddedToken]) throws(TokenizerProblem) {
        guard !forms.isEmpty else { return nil }
        var table = TokenTable(), low: UInt64 = 0, high: UInt64 = 0
        for (text, id) in forms {
            var bytes: [UInt8] = []
            for character in text { bytes.append(character) }
            guard let byte = bytes.first else {
                throw .malformed("added_tokens: expected text in token \(id), found none after the normalizer")
            }
            guard try table.insert(bytes, id: id) else {
                throw .malformed("added_tokens: the token \(TokenTable.shown(bytes)) occurs twice")
            }
            if byte < 64 { low |= 1 << UInt64(byte) } else if byte < 128 { high |= 1 << UInt64(byte - 64) }
        }
        trie = PrefixTrie(table)
        self.tokens = tokens
        first = (low, high)
    }

    /// Divides a text at the tokens in it: the leftmost, of these the longest, then the next one after its end.
    func divide(_ part: inout TextPart, _ table: CharacterTable) throws(TokenizerProblem) {
        let text = part.characters
        try part.divide { piece, pieces in
            var start = piece.range.lowerBound, place = start
            var blanks = BlankRuns(text, piece.range, table)
            while place < piece.range.upperBound {
                guard let (end, id) = match(text, place, piece.range.upperBound), let token = tokens[id] else {
                    place += 1
                    continue
                }
                var range = place..<end
                place = end
                if token.isSingleWord, Self.touchesWord(text, range, piece.range, table) { continue }
                if token.stripsLeft { range = max(blanks.start(before: range.lowerBound, from: start), start)..<end }
                if token.stripsRight { range = range.lowerBound..<blanks.end(after: end) }
                if start < range.lowerBound {
                    let isAtStart = piece.isAtStart && start == piece.range.lowerBound
                    let before = start..<range.lowerBound
                    pieces.append(TextPart.Piece(range: before, token: nil, isAtStart: isAtStart))
                }
                pieces.append(TextPart.Piece(range: range, token: id, isAtStart: false))
                start = range.upperBound
            }
            if start < piece.range.upperBound {
                let isAtStart = piece.isAtStart && start == piece.range.lowerBound
                let rest = start..<piece.range.upperBound
                pieces.append(TextPart.Piece(range: rest, token: nil, isAtStart: isAtStart))
            }
        }
    }

    /// The end and the id of the longest token at a place.
    private func match(_ text: [Unicode.Scalar], _ start: Int, _ end: Int) -> (Int, UInt32)? {
        let value = text[start].value
        if value < 64 {
            guard first.low >> UInt64(value) & 1 != 0 else { return nil }
        } else if value < 128 {
            guard first.high >> UInt64(value - 64) & 1 != 0 else { return nil }
        }
        var node = PrefixTrie.root, place = start, found: (Int, UInt32)?
        while place < end, let next = trie.step(node, text[place]) {
            node = next
            place += 1
            if let id = trie.value(node) { found = (place, id) }
        }
        return found
    }

    private static func touchesWord(
        _ text: [Unicode.Scalar], _ range: Range<Int>, _ whole: Range<Int>, _ table: CharacterTable
    ) -> Bool {
        range.lowerBound > whole.lowerBound && table.traits(text[range.lowerBound - 1]).isWord
            || range.upperBound < whole.upperBound && table.traits(text[range.upperBound]).isWord
    }
}

/// White space around tokens. A run is passed once, however many tokens are in it.
private struct BlankRuns {
    private let text: [Unicode.Scalar]
    private let range: Range<Int>
    private let table: CharacterTable
    /// The last run to the right of a token.
    private var known = 0..<0

    init(_ text: [Unicode.Scalar], _ range: Range<Int>, _ table: CharacterTable) {
        self.text = text
        self.range = range
        self.table = table
    }

    func start(before place: Int, from limit: Int) -> Int {
        var start = place
        while start > limit, table.traits(text[start - 1]).isWhite { start -= 1 }
        return start
    }

    mutating func end(after place: Int) -> Int {
        if known.contains(place) { return known.upperBound }
        var end = place
        while end < range.upperBound, table.traits(text[end]).isWhite { end += 1 }
        known = place..<end
        return end
    }
}
