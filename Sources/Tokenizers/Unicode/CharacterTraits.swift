/// A general category, in the order of the committed table.
enum CharacterCategory: UInt16, CaseIterable {
    case lu, ll, lt, lm, lo, mn, mc, me, nd, nl, no, pc, pd, ps, pe, pi, pf, po, sm, sc, sk, so, zs, zl, zp, cc, cf, co
    case cs, cn

    /// The bit of the category in a set of them.
    var bit: UInt32 { 1 << UInt32(rawValue) }

    /// The categories that a name in patterns stands for: `Lu`, or `L` for all that begin so. Nil if it names none.
    static func named(_ name: String) -> UInt32? {
        let found = allCases.filter { "\($0)".hasPrefix(name.lowercased()) && name.utf8.count <= 2 }
        return found.isEmpty || name.isEmpty ? nil : found.reduce(0) { $0 | $1.bit }
    }
}

/// The properties of a character. Each follows the Unicode version of the library that the `tokenizers` package asks:
///
/// - categories in patterns, white space, and `word`: Unicode 16;
/// - `numeric` and lower case: Unicode 17;
/// - `punctuation`, `control` and `nonspacing`, which BERT's parts use, and `mark`, of StripAccents: Unicode 8;
/// - decompositions and combining classes: Unicode 9.
///
/// Characters that were assigned later count as unassigned there: NFC, for example, does not reorder a combining mark
/// of Unicode 10, and a pattern's `\p{L}` does not match a letter of Unicode 17. Swift's own tables would treat them
/// otherwise, and change with the toolchain.
struct CharacterTraits: Sendable {
    let bits: UInt16

    /// The bit of the general category in a set of them.
    var categoryBit: UInt32 { 1 << UInt32(bits & 31) }
    var isNumeric: Bool { bits & 1 << 5 != 0 }
    var isWord: Bool { bits & 1 << 6 != 0 }
    var isPunctuation: Bool { bits & 1 << 7 != 0 }
    var isControl: Bool { bits & 1 << 8 != 0 }
    var isNonspacing: Bool { bits & 1 << 9 != 0 }
    var isMark: Bool { bits & 1 << 10 != 0 }
    var isWhite: Bool { bits & 1 << 11 != 0 }
    /// True if the lower case differs from the character.
    var hasLowercase: Bool { bits & 1 << 12 != 0 }
    /// True if the character has a decomposition in the table. Syllables of Hangul are computed.
    var decomposes: Bool { bits & 1 << 13 != 0 }
    /// True if the canonical combining class is not 0.
    var hasClass: Bool { bits & 1 << 14 != 0 }
    /// True if the character may be the second one of a composition.
    var composesBackward: Bool { bits & 1 << 15 != 0 }
}
