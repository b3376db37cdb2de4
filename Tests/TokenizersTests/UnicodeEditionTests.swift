import Foundation
import SystemSupport
import Testing
import Tokenizers

/// The properties and normal forms of all characters, compared with digests of those that the `tokenizers` package has.
/// Most come from the standard library: a toolchain with another version of Unicode may change them.
@Suite struct UnicodeEditionTests {
    private static let table = CharacterTable.shared
    private static let characters = (0..<0x110000).compactMap { Unicode.Scalar(UInt32($0)) }

    /// By the name of a property its value for a character, in the form in which `make-tokenizer-tables` writes it.
    private static let properties: [String: @Sendable (Unicode.Scalar) -> [UInt8]] = [
        "category": { [UInt8($0.traits.category)] },
        "numeric": { flag($0.traits.isNumeric) },
        "word": { flag($0.traits.isWord) },
        "punctuation": { flag($0.traits.isPunctuation) },
        "control": { flag(!["\t", "\n", "\r", "\u{FFFD}"].contains($0) && $0.traits.isControl) },
        "nonspacing": { flag(!isDecomposed($0) && $0.traits.isNonspacing) },
        "mark": { flag($0.traits.isMark) },
        "white": { flag($0.traits.isWhite) },
        "class": { [isDecomposed($0) ? 0 : table.combiningClass($0)] },
        "lowercase": { character in
            var text: [Unicode.Scalar] = []
            table.appendLowercase(character, to: &text)
            return line(text)
        },
        "NFC": { line(NormalizationForm.nfc.normalized([$0], table)) },
        "NFD": { line(NormalizationForm.nfd.normalized([$0], table)) },
        "NFKC": { line(NormalizationForm.nfkc.normalized([$0], table)) },
        "NFKD": { line(NormalizationForm.nfkd.normalized([$0], table)) },
    ]

    @Test("each property of all characters is the package's, whatever the toolchain's version of Unicode")
    func everyProperty_isThatOfPackage() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Fixtures/characters.json")
        let wanted = try JSONDecoder().decode([String: String].self, from: Data(contentsOf: file))
        #expect(wanted.keys.sorted() == Self.properties.keys.sorted())
        for (name, value) in Self.properties.sorted(by: { $0.key < $1.key }) {
            let digest = SHA256.text(SHA256.digest(Self.characters.flatMap(value)))
            #expect(
                digest == wanted[name],
                """
                \(name): the standard library has other data than with Swift 6.3. EveryCharacterTests, with \
                TEST_LONG=repeat, names the characters; they need rows in UnicodeEdition.changes
                """)
        }
    }

    private static func flag(_ value: Bool) -> [UInt8] { [value ? 1 : 0] }

    private static func line(_ text: [Unicode.Scalar]) -> [UInt8] { text.flatMap { Array(String($0).utf8) } + [10] }

    /// True if the canonical decomposition is another text: such characters are replaced before their class is asked.
    private static func isDecomposed(_ character: Unicode.Scalar) -> Bool {
        NormalizationForm.nfd.normalized([character], table) != [character]
    }
}

extension Unicode.Scalar {
    fileprivate var traits: CharacterTraits { CharacterTable.shared.traits(self) }
}
