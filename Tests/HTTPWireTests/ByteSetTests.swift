import HTTPWire
import Testing

/// Every byte in every position: the sources have the sets as bit masks, this file as text.
@Suite struct ByteSetTests {
    static let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    static let digits = "0123456789"
    static let token = letters + digits + "!#$%&'*+-.^_`|~"
    static let unreserved = letters + digits + "-._~"
    static let subDelimiters = "!$&'()*+,;="
    static let pathCharacters = unreserved + subDelimiters + ":@"

    /// The bytes for which `before` + byte + `after` is an accepted head.
    private func accepted(_ before: String, _ after: String) -> Set<UInt8> {
        var set: Set<UInt8> = []
        for byte in UInt8.min...UInt8.max {
            var parser = RequestParser()
            let bytes = Array(before.utf8) + [byte] + Array(after.utf8)
            let result = bytes.withUnsafeBytes { try? parser.parse($0) }
            if case .head? = result { set.insert(byte) }
        }
        return set
    }

    @Test("a header field name accepts token characters only", arguments: [0, 1, 7, 8, 20, 40])
    func aFieldNameIsAToken(length: Int) {
        let name = String(repeating: "a", count: length)
        // A colon ends a name that has begun.
        let allowed = length == 0 ? Self.token : Self.token + ":"
        #expect(accepted("GET / HTTP/1.0\r\n\(name)", "b: c\r\n\r\n") == Set(allowed.utf8))
    }

    @Test("a method accepts token characters only")
    func aMethodIsAToken() {
        #expect(accepted("A", "B / HTTP/1.0\r\n\r\n") == Set(Self.token.utf8))
    }

    @Test(
        "a field value accepts tabs and every byte that is no control character",
        arguments: [0, 1, 7, 8, 15, 16, 31, 32, 33, 100])
    func aFieldValueHasNoControlCharacters(length: Int) {
        let allowed = Set([UInt8](0x20...0x7E) + [UInt8](0x80...0xFF) + [0x09])
        let value = String(repeating: "a", count: length)
        #expect(accepted("GET / HTTP/1.0\r\nA: \(value)", "b\r\n\r\n") == allowed)
        #expect(accepted("GET / HTTP/1.0\r\nA: b", "\(value)\r\n\r\n") == allowed)
    }

    @Test(
        "a path accepts the path characters of RFC 3986, slashes and a question mark only",
        arguments: [0, 7, 8, 31, 32, 33])
    func aPathIsOfPathCharacters(length: Int) {
        let path = String(repeating: "a", count: length)
        #expect(accepted("GET /\(path)", "b HTTP/1.0\r\n\r\n") == Set((Self.pathCharacters + "/?").utf8))
    }

    @Test("a query accepts the characters of RFC 3986 and those that browsers do not encode")
    func aQueryIsOfQueryCharactersAndWhatBrowsersLeave() {
        let allowed = Self.pathCharacters + "/?" + "[]{}|^\\`"
        #expect(accepted("GET /?", "b HTTP/1.0\r\n\r\n") == Set(allowed.utf8))
    }

    @Test("a host accepts the characters of names and, in brackets, of IP literals only")
    func aHostIsOfItsCharacters() {
        #expect(
            accepted("GET / HTTP/1.0\r\nHost: a", "b\r\n\r\n") == Set((Self.unreserved + Self.subDelimiters).utf8))
        #expect(
            accepted("GET / HTTP/1.0\r\nHost: [v1.a", "b]\r\n\r\n")
                == Set((Self.letters + Self.digits + ":.").utf8))
    }

    @Test("a multipart boundary accepts the characters of RFC 2046 only")
    func aBoundaryIsOfItsCharacters() {
        var allowed: Set<UInt8> = []
        for byte in UInt8(0x20)...0x7E where byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") {
            let type = "multipart/form-data; boundary=\"a" + String(UnicodeScalar(byte)) + "b\""
            if (try? MultipartDecoder.boundary(contentType: type)) != nil { allowed.insert(byte) }
        }
        #expect(allowed == Set((Self.letters + Self.digits + "'()+_,-./:=? ").utf8))
    }
}
