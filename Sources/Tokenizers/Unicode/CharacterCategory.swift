/// A general category, by its short name.
enum CharacterCategory: UInt16, CaseIterable {
    case lu, ll, lt, lm, lo, mn, mc, me, nd, nl, no, pc, pd, ps, pe, pi, pf, po, sm, sc, sk, so, zs, zl, zp, cc, cf, co
    case cs, cn

    private static let known: [Unicode.GeneralCategory: Self] = [
        .uppercaseLetter: .lu, .lowercaseLetter: .ll, .titlecaseLetter: .lt, .modifierLetter: .lm, .otherLetter: .lo,
        .nonspacingMark: .mn, .spacingMark: .mc, .enclosingMark: .me, .decimalNumber: .nd, .letterNumber: .nl,
        .otherNumber: .no, .connectorPunctuation: .pc, .dashPunctuation: .pd, .openPunctuation: .ps,
        .closePunctuation: .pe, .initialPunctuation: .pi, .finalPunctuation: .pf, .otherPunctuation: .po,
        .mathSymbol: .sm, .currencySymbol: .sc, .modifierSymbol: .sk, .otherSymbol: .so, .spaceSeparator: .zs,
        .lineSeparator: .zl, .paragraphSeparator: .zp, .control: .cc, .format: .cf, .privateUse: .co, .surrogate: .cs,
    ]

    init(_ category: Unicode.GeneralCategory) { self = Self.known[category] ?? .cn }

    /// The bit of the category in a set of them.
    var bit: UInt32 { 1 << UInt32(rawValue) }

    /// The categories that a name in patterns stands for: `Lu`, or `L` for all that begin so. Nil if it names none.
    static func named(_ name: String) -> UInt32? {
        let found = allCases.filter { "\($0)".hasPrefix(name.lowercased()) && name.utf8.count <= 2 }
        return found.isEmpty || name.isEmpty ? nil : set(found)
    }

    static func set(_ categories: [Self]) -> UInt32 { categories.reduce(0) { $0 | $1.bit } }
}
