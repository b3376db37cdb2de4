/// A step that rewrites a text before it is divided.
indirect enum Normalizer: Sendable {
    case sequence([Normalizer])
    case bert(BertNormalizer)
    case byteLevel
    case form(NormalizationForm)
    case lowercase
    case nmt
    case precompiled(CharacterMap)
    case prepend([Unicode.Scalar])
    case replace(SearchPattern, with: [Unicode.Scalar])
    case strip(left: Bool, right: Bool)
    case stripAccents

    /// The text and whether its first character is still that of the original text.
    struct State {
        var text: [Unicode.Scalar]
        var isAtStart: Bool
        /// The maximum number of characters: a short text must not become a long one again and again.
        let limit: Int

        init(_ text: [Unicode.Scalar], isAtStart: Bool) {
            self.text = text
            self.isAtStart = isAtStart
            limit = 4_096 + 32 * text.count
        }

        func checkLength(_ text: [Unicode.Scalar]) throws(TokenizerProblem) {
            guard text.count <= limit else {
                throw .tooLarge("the normalizer makes more than 32 characters of each character of a text")
            }
        }

        /// Keeps only some characters.
        mutating func filter(_ isKept: (Unicode.Scalar) -> Bool) {
            if let first = text.first, !isKept(first) { isAtStart = false }
            text = text.filter(isKept)
        }
    }

    func normalize(_ state: inout State, _ table: CharacterTable) throws(TokenizerProblem) {
        switch self {
        case .sequence(let steps): for step in steps { try step.normalize(&state, table) }
        case .bert(let bert): bert.normalize(&state, table)
        case .byteLevel:
            var text: [Unicode.Scalar] = []
            for character in state.text { ByteAlphabet.append(character, to: &text) }
            state.text = text
        case .form(let form): state.text = form.normalized(state.text, table)
        case .lowercase: Self.lowercase(&state, table)
        case .nmt: Self.nmt(&state)
        case .precompiled(let map): state.text = try map.normalized(state)
        case .prepend(let prefix): if !state.text.isEmpty { state.text = prefix + state.text }
        case .replace(let pattern, let replacement): try Self.replace(&state, pattern, replacement, table)
        case .strip(let left, let right):
            let isWhite = { table.traits($0).isWhite }
            if left, let first = state.text.first, isWhite(first) {
                state.isAtStart = false
                state.text = Array(state.text.drop(while: isWhite))
            }
            if right { while let last = state.text.last, isWhite(last) { state.text.removeLast() } }
        case .stripAccents: state.filter { !table.traits($0).isMark }
        }
        try state.checkLength(state.text)
    }

    static func lowercase(_ state: inout State, _ table: CharacterTable) {
        var text: [Unicode.Scalar] = []
        text.reserveCapacity(state.text.count)
        for character in state.text { table.appendLowercase(character, to: &text) }
        state.text = text
    }

    /// Removes control characters and makes blanks of white space, as SentencePiece does for translation.
    private static func nmt(_ state: inout State) {
        state.filter {
            switch $0.value {
            case 0x01...0x08, 0x0B, 0x0E...0x1F, 0x7F, 0x8F, 0x9F: false
            default: true
            }
        }
        for (place, character) in state.text.enumerated() {
            switch character.value {
            case 0x09, 0x0A, 0x0C, 0x0D, 0x1680, 0x200B...0x200F, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD:
                state.text[place] = " "
            default: break
            }
        }
    }

    private static func replace(
        _ state: inout State, _ pattern: SearchPattern, _ replacement: [Unicode.Scalar], _ table: CharacterTable
    ) throws(TokenizerProblem) {
        var searcher = pattern.searcher(table)
        let segments = try searcher.segments(state.text, 0..<state.text.count)
        guard segments.contains(where: \.isMatch) else { return }
        var text: [Unicode.Scalar] = []
        text.reserveCapacity(state.text.count)
        if let first = segments.first, first.isMatch, replacement.isEmpty || first.range.count > 1 {
            state.isAtStart = false
        }
        for segment in segments {
            if segment.isMatch {
                text.append(contentsOf: replacement)
                try state.checkLength(text)
            } else {
                text.append(contentsOf: state.text[segment.range])
            }
        }
        state.text = text
    }
}

/// The normalizer of BERT.
struct BertNormalizer: Sendable {
    let cleansText: Bool
    let separatesChinese: Bool
    let stripsAccents: Bool
    let lowercases: Bool

    func normalize(_ state: inout Normalizer.State, _ table: CharacterTable) {
        if cleansText {
            state.filter { character in
                switch character {
                case "\t", "\n", "\r": true
                case "\0", "\u{FFFD}": false
                default: !table.traits(character).isControl
                }
            }
            for (place, character) in state.text.enumerated() where table.traits(character).isWhite {
                state.text[place] = " "
            }
        }
        if separatesChinese, state.text.contains(where: Self.isChinese) {
            var text: [Unicode.Scalar] = []
            for character in state.text {
                if Self.isChinese(character) { text += [" ", character, " "] } else { text.append(character) }
            }
            state.text = text
        }
        if stripsAccents {
            state.text = NormalizationForm.nfd.normalized(state.text, table)
            state.filter { !table.traits($0).isNonspacing }
        }
        if lowercases { Normalizer.lowercase(&state, table) }
    }

    /// True for the blocks of Chinese characters that BERT names.
    private static func isChinese(_ character: Unicode.Scalar) -> Bool {
        switch character.value {
        case 0x4E00...0x9FFF, 0x3400...0x4DBF, 0x20000...0x2A6DF, 0x2A700...0x2B73F, 0x2B740...0x2B81F,
            0x2B920...0x2CEAF, 0xF900...0xFAFF, 0x2F800...0x2FA1F:
            true
        default: false
        }
    }
}
