import SystemSupport
import Testing

/// SHA-256, compared with the examples of FIPS 180-4 and with sha256sum(1).
@Suite struct SHA256Tests {
    @Test(
        "SHA-256 digests equal the examples of the standard",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ]) func digestsAreThoseOfTheStandard(_ text: String, _ digest: String)
    {
        #expect(SHA256.text(SHA256.digest(Array(text.utf8))) == digest)
    }

    @Test("the SHA-256 digest of data fed in pieces equals the digest of the whole")
    func digestsOfPiecesAreThoseOfTheWhole() {
        let bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
        let million = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        #expect(SHA256.text(SHA256.digest(bytes)) == million)
        for size in [1, 55, 56, 63, 64, 65, 1_000] {
            var hash = SHA256()
            for start in stride(from: 0, to: bytes.count, by: size) {
                bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { hash.update($0) }
            }
            #expect(SHA256.text(hash.finish()) == million)
        }
    }
}
