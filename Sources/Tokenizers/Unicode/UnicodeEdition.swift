/// An edition of Unicode that a library of the `tokenizers` package has. Characters that were assigned later count as
/// unassigned there: NFC, for example, does not reorder a combining mark of Unicode 10, and a pattern's `\p{L}` does
/// not match a letter of Unicode 17.
///
/// Properties are those of Swift's standard library, which also knows the version that assigned a character, and the
/// rows of ``changes`` for the few characters that later versions moved to another category. Both hold with the data of
/// Swift 6.3, which are of Unicode 17; `UnicodeEditionTests` fails where a later toolchain needs another row.
enum UnicodeEdition: Int {
    /// The tables of BERT's parts: punctuation, controls, and the marks that are removed.
    case bert = 8
    /// The normalization forms, and the marks of StripAccents.
    case normalization = 9
    /// The categories in patterns, and `\w`.
    case patterns = 16
    /// The characters of Rust's library: numbers, white space and lower case.
    case rust = 17

    /// The categories of characters in an edition, where the standard library has another one.
    static let changes: [(edition: Self, characters: ClosedRange<UInt32>, category: CharacterCategory)] = [
        (.bert, 0x166D...0x166D, .po),  // So since Unicode 12.
        (.bert, 0x1734...0x1734, .mn),  // Mc since Unicode 14.
        (.bert, 0x1885...0x1886, .lo),  // Mn since Unicode 9.
        (.bert, 0xA9BD...0xA9BD, .mc),  // Mn since Unicode 12.
        (.bert, 0x111C9...0x111C9, .po),  // Mn since Unicode 11.
        (.bert, 0x1171E...0x1171E, .mn),  // Mc since Unicode 16.
        (.normalization, 0x1CF2...0x1CF3, .mc),  // Lo since Unicode 12.
        (.normalization, 0x111C9...0x111C9, .po),  // Mn since Unicode 11.
        (.patterns, 0x295...0x295, .ll),  // Lo since Unicode 17.
    ]
}
