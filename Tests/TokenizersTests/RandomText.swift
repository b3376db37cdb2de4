import TestSupport

/// Makes texts in which parts of tokenizers differ.
struct RandomText {
    private var random: SplitMix
    /// Tokens of the vocabulary, and added ones.
    private let tokens: [String]

    init(seed: UInt64, tokens: [String]) {
        random = SplitMix(seed: seed)
        self.tokens = tokens
    }

    private static let blanks: [Unicode.Scalar] = [
        " ", " ", " ", " ", "\t", "\n", "\r", "\u{B}", "\u{C}", "\u{85}", "\u{A0}", "\u{1680}", "\u{180E}", "\u{2003}",
        "\u{200B}", "\u{2028}", "\u{202F}", "\u{205F}", "\u{3000}", "\u{FEFF}", "\u{2581}",
    ]
    private static let ranges: [ClosedRange<UInt32>] = [
        0x20...0x7E, 0x20...0x7E, 0x0...0x1F, 0x7F...0xFF, 0x100...0x24F, 0x2B0...0x36F, 0x370...0x52F, 0x590...0x8FF,
        0x900...0xDFF, 0xE00...0xFFF, 0x1100...0x11FF, 0x1E00...0x1FFF, 0x2000...0x206F, 0x20D0...0x218F,
        0x2460...0x27BF, 0x3040...0x30FF, 0x3200...0x33FF, 0x3400...0x9FFF, 0xA980...0xAAFF, 0xAC00...0xD7FF,
        0xF900...0xFAFF, 0xFB00...0xFDFF, 0xFE00...0xFE2F, 0xFF00...0xFFFF, 0x10000...0x10FFF, 0x11000...0x11FFF,
        0x16000...0x1BFFF, 0x1D100...0x1D7FF, 0x1E000...0x1EFFF, 0x1F100...0x1FAFF, 0x20000...0x323AF,
        0xE0000...0xE01EF, 0x0...0xD7FF, 0x10000...0x10FFFF,
    ]
    private static let words = [
        "the", "The", "don't", "I'LL", "we've", "it's", "'S", "'ſ", "İstanbul", "ΣΟΦΟΣ", "straße", "naïve",
        "nai\u{308}ve",
        "ﬁn", "東京", "ありがとう", "한국어", "\u{1112}\u{1161}\u{11AB}", "नमस्ते", "ไทย", "👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u{301}\u{323}",
        "a\u{323}\u{301}\u{302}", "x\u{310}", "\r\n", "123456", "1,234.5", "½", "Ⅷ", "²", "...", "!?", "a-b_c", "<s>",
        "[CLS]", "<0x41>", "##ing", "▁▁", "    ", "\n\n\n", "\u{F8FF}", "\u{1E131}", "\u{897}", "㍿", "ﷺ", "Å", "K",
    ]

    /// The next text.
    mutating func next() -> String {
        var scalars = String.UnicodeScalarView()
        let count = Int.random(in: 0...(random.chance(5) ? 200 : 24), using: &random)
        for _ in 0..<count {
            switch Int.random(in: 0..<10, using: &random) {
            case 0, 1: scalars.append(pick(Self.blanks) ?? " ")
            case 2, 3: scalars.append(contentsOf: (pick(Self.words) ?? "").unicodeScalars)
            case 4, 5: scalars.append(contentsOf: (pick(tokens) ?? "").unicodeScalars)
            case 6:
                let character = scalar()
                scalars.append(contentsOf: repeatElement(character, count: Int.random(in: 1...4, using: &random)))
            case 7:
                // One block gives words of a script, with its marks.
                let range = pick(Self.ranges) ?? 0x20...0x7E
                for _ in 0..<Int.random(in: 1...6, using: &random) { scalars.append(scalar(range)) }
            default: scalars.append(scalar())
            }
        }
        return String(scalars)
    }

    private mutating func pick<T>(_ values: [T]) -> T? { values.randomElement(using: &random) }

    private mutating func scalar() -> Unicode.Scalar { scalar(pick(Self.ranges) ?? 0x20...0x7E) }

    private mutating func scalar(_ range: ClosedRange<UInt32>) -> Unicode.Scalar {
        Unicode.Scalar(UInt32.random(in: range, using: &random)) ?? "\u{FFFD}"
    }
}
