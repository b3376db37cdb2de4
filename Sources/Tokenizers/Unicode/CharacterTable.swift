/// The properties and decompositions of all characters, made at the first use: properties from the standard library,
/// decompositions from the committed data.
package struct CharacterTable: Sendable {
    /// The table. A tokenizer keeps a copy, so that texts are encoded without asking whether it exists.
    package static let shared = CharacterTable()

    /// The page of each 256 characters, and the traits by page: most pages are equal to another one.
    private var pages: [UInt16] = []
    private var traits: [UInt16] = []
    private let decompositions = DecompositionTable(DecompositionData.steps)

    private init() {
        var known: [[UInt16]: UInt16] = [:]
        for number in 0..<0x1100 {
            switch number {
            // No edition has characters in planes 4 to 13 and after the variation selectors of plane 14; those of
            // planes 15 and 16 are for private use, except for the last two of each.
            case 0x401..<0xE00, 0xE02..<0xF00: pages.append(pages[0x400])
            case 0xF01..<0xFFF, 0x1000..<0x10FF: pages.append(pages[0xF00])
            default:
                let page = self.page(number)
                let index = known[page] ?? UInt16(known.count)
                if known.updateValue(index, forKey: page) == nil { traits.append(contentsOf: page) }
                pages.append(index)
            }
        }
    }

    private func page(_ number: Int) -> [UInt16] {
        (number << 8..<(number + 1) << 8).map { value in
            guard let character = Unicode.Scalar(UInt32(value)) else { return CharacterCategory.cn.rawValue }
            var traits = CharacterTraits(character)
            if decompositions.has(character) { traits.setDecomposes() }
            if decompositions.endsComposition(character) || HangulSyllable.endsComposition(character) {
                traits.setComposesBackward()
            }
            return traits.bits
        }
    }

    @inline(__always)
    package func traits(_ character: Unicode.Scalar) -> CharacterTraits {
        let page = Int(pages[Int(character.value >> 8)])
        return CharacterTraits(bits: traits[page << 8 | Int(character.value & 255)])
    }

    /// The canonical combining class.
    package func combiningClass(_ character: Unicode.Scalar) -> UInt8 {
        traits(character).hasClass ? character.properties.canonicalCombiningClass.rawValue : 0
    }

    /// The lower case of one character, without regard to its neighbours.
    @inline(__always)
    package func appendLowercase(_ character: Unicode.Scalar, to text: inout [Unicode.Scalar]) {
        if character.isASCII {
            let isUpper = (0x41...0x5A).contains(character.value)
            text.append(isUpper ? Unicode.Scalar(UInt8(character.value) | 0x20) : character)
        } else if traits(character).hasLowercase {
            text.append(contentsOf: character.properties.lowercaseMapping.unicodeScalars)
        } else {
            text.append(character)
        }
    }

    /// The full decomposition of a character in the table; nil if it has none of this kind.
    func decomposition(_ character: Unicode.Scalar, compatibly: Bool) -> ArraySlice<Unicode.Scalar>? {
        decompositions[character, compatibly: compatibly]
    }

    /// The character that two compose to; nil if they do not.
    func composition(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Unicode.Scalar? {
        decompositions.composition(first, second)
    }
}
