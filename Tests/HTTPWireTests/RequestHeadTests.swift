import HTTPWire
import Testing

/// The properties of a parsed head; the fixtures cover refused heads.
@Suite struct RequestHeadTests {
    private func head(_ text: String) throws -> RequestHead {
        var parser = RequestParser()
        let bytes = Array(text.utf8)
        let result = try bytes.withUnsafeBytes { bytes throws(WireError) in try parser.parse(bytes) }
        guard case .head(let head, let consumed) = result else { throw Missing() }
        #expect(consumed == bytes.count)
        return head
    }

    private struct Missing: Error {}

    @Test("header fields are found in any case, and method, target and framing are parsed")
    func fieldsAreFoundInAnyCase() throws {
        let head = try head(
            "POST /v1/classify?top=3&crop=center+fit&x=%C3%A9 HTTP/1.1\r\nHost: a:80\r\nX-A: 1\r\nx-a: \t 2 \r\n"
                + "Content-Length: 12\r\nExpect: 100-continue\r\n\r\n")
        #expect(head.method == .post)
        #expect(head.version == .http11)
        #expect(head.fieldCount == 5)
        #expect(head.value(of: "HOST") == "a:80")
        #expect(head.values(of: "x-A") == ["1", "2"])
        #expect(head.value(of: "X-B") == nil)
        #expect(!head.contains("x-"))
        #expect(head.contains("content-length"))
        #expect(head.field(at: 2) == ("x-a", "2"))
        #expect(head.field(at: 5) == ("", ""))
        #expect(head.framing == .length(12))
        #expect(head.keepAlive)
        #expect(head.expectsContinue)
        #expect(head.authority == "a:80")
        #expect(head.target.path == "/v1/classify")
        #expect(head.target.query == "top=3&crop=center+fit&x=%C3%A9")
        #expect(head.target.queryItems().map(\.name) == ["top", "crop", "x"])
        #expect(head.target.queryItems().map(\.value) == ["3", "center fit", "é"])
    }

    @Test("field names that differ in bit 5 of a character other than a letter are different")
    func namesDifferingInBit5OfANonLetterAreDifferent() throws {
        // '^' and '~', and '.' and a control byte, differ by 0x20 like the two cases of a letter.
        let head = try head("GET / HTTP/1.0\r\na^b: 1\r\na~b: 2\r\n\r\n")
        #expect(head.values(of: "A^B") == ["1"])
        #expect(head.values(of: "A~B") == ["2"])
        #expect(head.value(of: "a\u{0E}b") == nil)
    }

    @Test("percent escapes in a path are decoded once")
    func aPathIsDecodedOnce() throws {
        let head = try head("GET /a%20b/%2541/%c3%a9+c?x HTTP/1.0\r\n\r\n")
        #expect(head.target.path == "/a b/%41/é+c")
        #expect(head.target.rawPath == "/a%20b/%2541/%c3%a9+c")
        #expect(head.target.raw == "/a%20b/%2541/%c3%a9+c?x")
    }

    @Test("query items keep their order and empty values")
    func queryItemsKeepOrderAndEmptyValues() throws {
        let head = try head("GET /?a&b=&=c&&d=1=2&a=%26 HTTP/1.0\r\n\r\n")
        let items = head.target.queryItems()
        #expect(items.map(\.name) == ["a", "b", "", "d", "a"])
        #expect(items.map(\.value) == ["", "", "c", "1=2", "&"])
        #expect(try self.head("GET /? HTTP/1.0\r\n\r\n").target.query == "")
        #expect(try self.head("GET / HTTP/1.0\r\n\r\n").target.query == nil)
    }

    @Test("the pairs of an urlencoded body are decoded as those of a query, up to a maximum")
    func formItemsAreThoseOfAQuery() {
        func items(_ text: String, _ maximum: Int = 10) -> [String] {
            Array(text.utf8).withUnsafeBytes { RequestTarget.formItems(of: $0, maximum: maximum) }
                .map { "\($0.name)|\($0.value)" }
        }
        #expect(items("") == [] && items("&&") == [] && items("a") == ["a|"] && items("=b") == ["|b"])
        #expect(items("userid=%C3%A5sa+%26+co&api_key=") == ["userid|åsa & co", "api_key|"])
        #expect(items("a=1&b=2&c=3", 2) == ["a|1", "b|2"] && items("a=1", 0) == [])
        #expect(items("a=%zz%4") == ["a|%zz%4"] && items("a=b=c") == ["a|b=c"])
    }

    @Test("the authority of an absolute target overrides Host")
    func theAuthorityOfAnAbsoluteTargetOverridesHost() throws {
        let head = try head("GET http://b.example:8080/x?y HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(head.target.form == .absolute)
        #expect(head.authority == "b.example:8080")
        #expect(head.target.path == "/x")
        #expect(head.target.query == "y")
    }

    /// Three words, because it is passed by value from the event loop to the handler. Besides, Swift 6.3's optimizer
    /// loses the fields of larger values that are extracted from an enum's payload and returned, as `first` does.
    @Test("a request head takes at most 24 bytes and keeps its fields when a function returns the head")
    func head_inMemory_takesAtMost24Bytes() throws {
        #expect(MemoryLayout<RequestHead>.size <= 24)
        let head = Self.first("GET /a HTTP/1.1\r\nHost: b\r\n\r\n")
        #expect(head.target.path == "/a")
        #expect(head.value(of: "host") == "b")
    }

    @inline(never) private static func first(_ text: String) -> RequestHead {
        var parser = RequestParser()
        let result = Array(text.utf8).withUnsafeBytes { try? parser.parse($0) }
        guard case .head(let head, _) = result else { fatalError("no head") }
        return head
    }
}
