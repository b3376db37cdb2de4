/// The properties of a character, each in the edition of the library that the `tokenizers` package asks.
package struct CharacterTraits: Sendable {
    /// The number of the general category in the lowest five bits, then a bit for each property.
    private(set) var bits: UInt16

    /// The general category in patterns.
    package var category: UInt16 { bits & 31 }
    /// The bit of the general category in a set of them.
    var categoryBit: UInt32 { 1 << UInt32(category) }
    package var isNumeric: Bool { has(5) }
    package var isWord: Bool { has(6) }
    package var isPunctuation: Bool { has(7) }
    package var isControl: Bool { has(8) }
    package var isNonspacing: Bool { has(9) }
    package var isMark: Bool { has(10) }
    package var isWhite: Bool { has(11) }
    /// True if the lower case differs from the character.
    var hasLowercase: Bool { has(12) }
    /// True if the character has a decomposition in the table. Syllables of Hangul are computed.
    var decomposes: Bool { has(13) }
    /// True if the canonical combining class is not 0.
    var hasClass: Bool { has(14) }
    /// True if the character may be the second one of a composition.
    var composesBackward: Bool { has(15) }

    @inline(__always)
    private func has(_ place: UInt16) -> Bool { bits & 1 << place != 0 }

    init(bits: UInt16) { self.bits = bits }

    /// The properties that the standard library knows: all but those of decompositions.
    init(_ character: Unicode.Scalar) {
        bits = CharacterCategory.cn.rawValue
        let properties = character.properties
        guard let version = properties.age?.major else { return }
        let current = CharacterCategory(properties.generalCategory)
        func category(_ edition: UnicodeEdition) -> CharacterCategory {
            if version > edition.rawValue { return .cn }
            return UnicodeEdition.changes.first { $0.edition == edition && $0.characters.contains(character.value) }?
                .category ?? current
        }
        let pattern = category(.patterns), bert = category(.bert).bit, rust = category(.rust).bit
        let normal = category(.normalization).bit
        bits = pattern.rawValue
        set(5, rust & Self.numbers != 0)
        set(6, pattern.bit & Self.words != 0 || pattern != .cn && (properties.isAlphabetic || properties.isJoinControl))
        set(7, bert & Self.punctuation != 0 || character.isASCII && bert & Self.symbols != 0)
        set(8, bert & Self.controls != 0)
        set(9, bert == CharacterCategory.mn.bit)
        set(10, normal & Self.marks != 0)
        set(11, rust & Self.blanks != 0 && properties.isWhitespace)
        set(12, rust & Self.cased != 0 && properties.changesWhenLowercased)
        set(14, normal & Self.marks != 0 && properties.canonicalCombiningClass != .notReordered)
    }

    mutating func setDecomposes() { set(13, true) }
    mutating func setComposesBackward() { set(15, true) }

    private mutating func set(_ place: UInt16, _ holds: Bool) { if holds { bits |= 1 << place } }

    private static let numbers = CharacterCategory.set([.nd, .nl, .no])
    private static let marks = CharacterCategory.set([.mn, .mc, .me])
    private static let symbols = CharacterCategory.set([.sm, .sc, .sk, .so])
    private static let punctuation = CharacterCategory.set([.pc, .pd, .ps, .pe, .pi, .pf, .po])
    private static let controls = CharacterCategory.set([.cc, .cf, .co])
    /// The categories that are in `\w` as a whole. It also has other characters that are alphabetic or join others.
    private static let words = CharacterCategory.set([.lu, .ll, .lt, .lm, .lo, .mn, .mc, .me, .nd, .nl, .pc])
    /// The categories that have white space.
    private static let blanks = CharacterCategory.set([.zs, .zl, .zp, .cc])
    /// The categories of characters that may have another lower case.
    private static let cased = CharacterCategory.set([.lu, .lt, .nl, .so])
}
