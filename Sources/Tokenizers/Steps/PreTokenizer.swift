/// A step that divides a text into pieces, which the model then encodes one by one.
indirect enum PreTokenizer: Sendable {
    case sequence([PreTokenizer])
    case bert
    case byteLevel(addsSpace: Bool, splitter: PatternProgram?)
    case delimiter(Unicode.Scalar)
    case digits(areIndividual: Bool)
    case fixedLength(Int)
    case metaspace(Unicode.Scalar, prepending: Prepending, splits: Bool)
    case punctuation(SplitBehavior)
    case split(SearchPattern, SplitBehavior, isInverted: Bool)
    case whitespace
    case whitespaceSplit

    /// The pieces that Metaspace begins with its character.
    enum Prepending: String, Sendable, CaseIterable {
        case always, first, never
    }

    /// The expression by which GPT-2 divides texts.
    static let byteLevelPattern =
        #"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"#

    func divide(_ part: inout TextPart, _ table: CharacterTable) throws(TokenizerProblem) {
        switch self {
        case .sequence(let steps):
            for step in steps {
                try step.divide(&part, table)
                guard part.characters.count <= part.limit else {
                    throw .tooLarge("the pre-tokenizer makes more than 16 characters of each character of a text")
                }
            }
        case .bert:
            try Self.split(&part, .removed) { table.traits($0).isWhite }
            try Self.split(&part, .isolated) { table.traits($0).isPunctuation }
        case .byteLevel(let addsSpace, let splitter):
            if addsSpace {
                part = part.rewritten { [part] piece, text in
                    if part.characters[piece.range.lowerBound] != " " { text.append(" ") }
                    text.append(contentsOf: part.characters[piece.range])
                }
            }
            if let splitter { try Self.split(&part, .expression(splitter), .isolated, isInverted: false, table) }
            part = part.rewritten { [part] piece, text in
                for character in part.characters[piece.range] { ByteAlphabet.append(character, to: &text) }
            }
        case .delimiter(let delimiter): try Self.split(&part, .removed) { $0 == delimiter }
        case .digits(let areIndividual):
            try Self.split(&part, areIndividual ? .isolated : .contiguous) { table.traits($0).isNumeric }
        case .fixedLength(let length):
            try part.divide { piece, pieces in
                for start in stride(from: piece.range.lowerBound, to: piece.range.upperBound, by: length) {
                    var next = piece
                    next.range = start..<min(start + length, piece.range.upperBound)
                    next.isAtStart = piece.isAtStart && start == piece.range.lowerBound
                    pieces.append(next)
                }
            }
        case .metaspace(let character, let prepending, let splits):
            part = Self.withMetaspace(part, character, prepending)
            if splits { try Self.split(&part, .mergedWithNext) { $0 == character } }
        case .punctuation(let behavior): try Self.split(&part, behavior) { table.traits($0).isPunctuation }
        case .split(let pattern, let behavior, let isInverted):
            try Self.split(&part, pattern, behavior, isInverted: isInverted, table)
        case .whitespace: try Self.splitWords(&part, table)
        case .whitespaceSplit: try Self.split(&part, .removed) { table.traits($0).isWhite }
        }
    }

    private static func split(
        _ part: inout TextPart, _ behavior: SplitBehavior, where isMatch: (Unicode.Scalar) -> Bool
    ) throws(TokenizerProblem) {
        let text = part.characters
        try part.divide { piece, pieces in
            behavior.append(SplitBehavior.segments(text, piece.range, where: isMatch), of: piece, to: &pieces)
        }
    }

    private static func split(
        _ part: inout TextPart, _ pattern: SearchPattern, _ behavior: SplitBehavior, isInverted: Bool,
        _ table: CharacterTable
    ) throws(TokenizerProblem) {
        let text = part.characters
        var searcher = pattern.searcher(table)
        try part.divide { (piece, pieces) throws(TokenizerProblem) in
            var segments = try searcher.segments(text, piece.range)
            if isInverted { for index in segments.indices { segments[index].isMatch.toggle() } }
            behavior.append(segments, of: piece, to: &pieces)
        }
    }

    private static func withMetaspace(
        _ part: TextPart, _ replacement: Unicode.Scalar, _ prepending: Prepending
    ) -> TextPart {
        part.rewritten { piece, text in
            let first = part.characters[piece.range.lowerBound]
            let isPrepended = prepending == .always || prepending == .first && piece.isAtStart
            if isPrepended, first != " ", first != replacement { text.append(replacement) }
            for character in part.characters[piece.range] { text.append(character == " " ? replacement : character) }
        }
    }

    /// Keeps runs of word characters and runs of others that are not white space.
    private static func splitWords(_ part: inout TextPart, _ table: CharacterTable) throws(TokenizerProblem) {
        let text = part.characters
        func kind(_ place: Int) -> Int {
            let traits = table.traits(text[place])
            return traits.isWord ? 1 : traits.isWhite ? 0 : 2
        }
        try part.divide { piece, pieces in
            var start = piece.range.lowerBound
            while start < piece.range.upperBound {
                let first = kind(start)
                var end = start + 1
                while end < piece.range.upperBound, kind(end) == first { end += 1 }
                if first != 0 {
                    let isAtStart = piece.isAtStart && start == piece.range.lowerBound
                    pieces.append(TextPart.Piece(range: start..<end, token: nil, isAtStart: isAtStart))
                }
                start = end
            }
        }
    }
}
