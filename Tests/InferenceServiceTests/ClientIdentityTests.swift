import InferenceService
internal import ServiceCore
internal import ServicePlanning
import Testing

/// The requests that count as one client's.
@Suite struct ClientIdentityTests {
    private func identity(_ address: String, token: String? = nil) -> ClientIdentity {
        ClientIdentity(address, token: token.map { Array($0.utf8) })
    }

    private func number(_ address: String, token: String? = nil) -> UInt64 {
        identity(address, token: token).number
    }

    @Test(
        "addresses that differ only in port or in the second half of IPv6 are the same client",
        arguments: [
            ("192.0.2.1:4242", "192.0.2.1:4243"), ("192.0.2.1:4242", "192.0.2.1"),
            ("[2001:db8::1]:4242", "[2001:db8::ffff:1]:80"), ("[::ffff:192.0.2.1]:4242", "192.0.2.1:4242"),
            ("2001:db8::1", "[2001:db8::1]:4242"), ("unix", "unix"),
        ])
    func portsAndTheSecondHalfOfIPv6DoNotCount(one: String, other: String) {
        #expect(number(one) == number(other))
    }

    @Test(
        "addresses that differ in IPv4 or in the first half of IPv6 are different clients",
        arguments: [
            ("192.0.2.1:4242", "192.0.2.2:4242"), ("[2001:db8::1]:4242", "[2001:db8:0:1::1]:4242"),
            ("unix", "127.0.0.1:1"),
            ("[::ffff:192.0.2.1]:4242", "[::ffff:192.0.2.2]:4242"),
        ])
    func otherAddressesAreOtherClients(one: String, other: String) {
        #expect(number(one) != number(other))
    }

    @Test("the token identifies the client if tokens are required, otherwise the address does")
    func tokenIsTheClientWhereTokensAreAskedFor() throws {
        let address = "192.0.2.1:4242"
        #expect(number(address, token: "a") == number("192.0.2.9:1", token: "a"))
        #expect(number(address, token: "a") != number(address, token: "b"))
        let head = try Requests.head("GET / HTTP/1.1\nHost: x\nAuthorization: Bearer a")
        let token = try AccessControl.open.check(head, .infer)
        #expect(ClientIdentity(address, token: token) == identity(address))
    }

    @Test(
        "one token is one client in its rate, its turns and its share, however its field is spelled",
        arguments: ["bearer ", "BEARER ", "bEaReR   ", "Bearer    "])
    func theSpellingOfTheFieldDoesNotCount(_ scheme: String) throws {
        let token = "token-of-one-client", file = TokenFile(text: "all \(token)\nall \(token)2\n", name: "tokens")
        func identity(_ field: String) throws -> ClientIdentity {
            let head = try Requests.head("GET / HTTP/1.1\nHost: x\nAuthorization: \(field)")
            return ClientIdentity("192.0.2.1:4242", token: try AccessControl(file).check(head, .infer))
        }
        #expect(try identity(scheme + token) == identity("Bearer " + token))
        #expect(try identity(scheme + token) != identity("Bearer " + token + "2"))
    }

    /// The expected numbers were computed by another program: FNV-1a of `Bearer a`, of the address as text, and of the
    /// first 64 bits of an IPv6 address.
    @Test("the number that decides a share comes from the token or the address, and is the same in every process")
    func theNumberOfAShareIsTheSameInEveryProcess() {
        for address in ["192.0.2.1:4242", "[2001:db8::1]:80", "unix"] {
            let sticky = identity(address, token: "a").sticky
            #expect(sticky == 0x8F_747B_998F_FB63, "\(address)")
        }
        #expect(identity("192.0.2.1:4242").sticky == 0x714E_F6F9_D3C7_8218)
        for address in ["[2001:db8::1]:4242", "[2001:db8::ffff:1]:80", "2001:db8::2"] {
            let sticky = identity(address).sticky
            #expect(sticky == 0xF630_5028_15AE_FAE7, "\(address)")
        }
        #expect(identity("[2001:db8:0:1::1]:80").sticky != identity("[2001:db8::1]:80").sticky)
    }
}
