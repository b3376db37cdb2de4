import HTTPServer
import Testing

@Suite("Request identifiers")
struct RequestIdentifierTests {
    @Test("generated identifiers have fifteen valid characters and never repeat")
    func unique() {
        var identifiers = RequestIdentifier(seed: 42)
        var seen: Set<String> = []
        for _ in 0..<100_000 {
            let next = identifiers.next()
            #expect(next.utf8.count == 15)
            #expect(RequestIdentifier.isUsable(next))
            seen.insert(next)
        }
        #expect(seen.count == 100_000)
    }

    @Test("generated identifiers use only digits and letters that are not easily confused")
    func alphabet() {
        var identifiers = RequestIdentifier(seed: 7)
        var letters: Set<Character> = []
        for _ in 0..<1_000 { letters.formUnion(identifiers.next()) }
        #expect(letters == Set("0123456789abcdefghjkmnpqrstvwxyz"))
    }

    @Test(
        "an identifier of a client is accepted if its characters are harmless",
        arguments: [
            "a", "7f0c9a52-0d8e-4d0a-9f0e-1f2a3b4c5d6e", "Root=1-67891233-abcdef012345678912345678",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "q83vEjRWeJA=", "user@host:1/2+3~4",
            String(repeating: "x", count: 128),
        ])
    func sane(text: String) {
        #expect(RequestIdentifier.isUsable(text))
    }

    @Test(
        "an identifier of a client with other characters or of a wrong length is not accepted",
        arguments: [
            "", " a", "a b", "a\"b", "a\\b", "a\nb", "a\u{0}", "ä", "a;b", "$(x)", "`x`",
            String(repeating: "x", count: 129),
        ])
    func insane(text: String) {
        #expect(!RequestIdentifier.isUsable(text))
    }
}
