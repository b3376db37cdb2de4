/// The characters that stand for bytes in vocabularies at the level of bytes, as GPT-2 defined them: printable bytes
/// are the character of their number, the others follow from U+0100 on.
enum ByteAlphabet {
    /// By byte its character.
    private static let characters: [Unicode.Scalar] = {
        var next: UInt32 = 0x100
        return (UInt8.min...UInt8.max).map { byte in
            if (0x21...0x7E).contains(byte) || (0xA1...0xAC).contains(byte) || byte >= 0xAE {
                return Unicode.Scalar(byte)
            }
            defer { next += 1 }
            return Unicode.Scalar(next) ?? "?"
        }
    }()

    /// Appends the characters of the bytes of a character in UTF-8.
    static func append(_ character: Unicode.Scalar, to text: inout [Unicode.Scalar]) {
        for byte in UTF8Bytes(character) { text.append(characters[Int(byte)]) }
    }
}
