import InferenceService
import Testing

/// The requests that count as one client's.
@Suite struct ClientIdentityTests {
    private func number(_ address: String, token: String? = nil, byToken: Bool = false) throws -> UInt64 {
        let field = token.map { "\r\nAuthorization: Bearer \($0)" } ?? ""
        let head = try Requests.head("GET / HTTP/1.1\r\nHost: x\(field)")
        return ClientIdentity(address, head: head, byToken: byToken).number
    }

    @Test(
        "addresses that differ only in port or in the second half of IPv6 are the same client",
        arguments: [
            ("192.0.2.1:4242", "192.0.2.1:4243"), ("192.0.2.1:4242", "192.0.2.1"),
            ("[2001:db8::1]:4242", "[2001:db8::ffff:1]:80"), ("[::ffff:192.0.2.1]:4242", "192.0.2.1:4242"),
            ("2001:db8::1", "[2001:db8::1]:4242"), ("unix", "unix"),
        ])
    func portsAndTheSecondHalfOfIPv6DoNotCount(one: String, other: String) throws {
        #expect(try number(one) == number(other))
    }

    @Test(
        "addresses that differ in IPv4 or in the first half of IPv6 are different clients",
        arguments: [
            ("192.0.2.1:4242", "192.0.2.2:4242"), ("[2001:db8::1]:4242", "[2001:db8:0:1::1]:4242"),
            ("unix", "127.0.0.1:1"),
            ("[::ffff:192.0.2.1]:4242", "[::ffff:192.0.2.2]:4242"),
        ])
    func otherAddressesAreOtherClients(one: String, other: String) throws {
        #expect(try number(one) != number(other))
    }

    @Test("where clients are told apart by token, the token is the client, otherwise the address")
    func tokenIsTheClientWhereTokensAreAskedFor() throws {
        let address = "192.0.2.1:4242"
        #expect(try number(address, token: "a", byToken: true) == number("192.0.2.9:1", token: "a", byToken: true))
        #expect(try number(address, token: "a", byToken: true) != number(address, token: "b", byToken: true))
        #expect(try number(address, token: "a") == number(address, token: "b"))
    }
}
