import SystemSupport
import Testing

/// SipHash compared with OpenSSL (`openssl mac -macopt hexkey:KEY -macopt size:16 SIPHASH`).
@Suite struct SipHashTests {
    private static let key = SipHash.Key(low: 0x0706_0504_0302_0100, high: 0x0f0e_0d0c_0b0a_0908)

    private static func key(_ text: String) -> SipHash.Key {
        func word(_ digits: Substring) -> UInt64 { UInt64(digits, radix: 16)?.byteSwapped ?? 0 }
        return SipHash.Key(low: word(text.prefix(16)), high: word(text.suffix(16)))
    }

    private static func hash(_ pieces: [[UInt8]], _ key: SipHash.Key) -> SipHash.Key {
        var hash = SipHash(key: key)
        for piece in pieces { piece.withUnsafeBytes { hash.update($0) } }
        return hash.finish()
    }

    @Test(
        "the bytes 0, 1, 2 …",
        arguments: [
            (0, "A3817F04BA25A8E66DF67214C7550293"), (1, "DA87C1D86B99AF44347659119B22FC45"),
            (7, "A1F1EBBED8DBC153C0B84AA61FF08239"), (8, "3B62A9BA6258F5610F83E264F31497B4"),
            (9, "264499060AD9BAABC47F8B02BB6D71ED"), (15, "5493E99933B0A8117E08EC0F97CFC3D9"),
            (63, "5150D1772F50834A503E069A973FBD7C"),
        ])
    func countedBytes(count: Int, expected: String) {
        #expect(Self.hash([(0..<count).map { UInt8($0) }], Self.key) == Self.key(expected))
    }

    @Test("1,000 bytes with another key, in pieces of every size")
    func pieces() {
        let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 * 7 + 3) }
        let key = Self.key("ff0102030405060708090a0b0c0d0e7f")
        for size in 1...17 {
            let pieces = stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, 1_000)]) }
            #expect(Self.hash(pieces, key) == Self.key("B0B5AFC577CA5D3ADAD82DE0B799FEB3"), "pieces of \(size)")
        }
    }

    @Test("texts with the same concatenation but another boundary have different hashes")
    func texts() {
        func hash(_ texts: String...) -> SipHash.Key {
            var hash = SipHash(key: Self.key)
            for text in texts { hash.update(text) }
            return hash.finish()
        }
        #expect(hash("ab", "c") != hash("a", "bc"))
        #expect(hash("ab", "") != hash("", "ab"))
        #expect(hash("ab") != hash("ab", ""))
    }
}
