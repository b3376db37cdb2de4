/// The validated head of a request: request line and field lines.
///
/// A single allocation holds a copy of the text and a table of the fields' positions; looking up a field allocates only
/// the returned `String`.
public struct RequestHead: Sendable {
    /// The method, a token of at most `WireLimits.methodBytes`; never CONNECT.
    public let method: HTTPMethod
    private let block: HeadBlock

    init(method: HTTPMethod, block: HeadBlock) {
        self.method = method
        self.block = block
    }

    /// HTTP/1.0, HTTP/1.1, or a later minor version, which is treated as 1.1.
    public var version: HTTPVersion { block.record.version }

    /// The target; valid, and free of dot segments, encoded slashes and control characters.
    public var target: RequestTarget { RequestTarget(block: block) }

    /// The rule that finds the end of the body.
    public var framing: BodyFraming { block.record.framing }

    /// True if the connection may carry another request, by version and Connection (RFC 9112 section 9.3).
    public var keepAlive: Bool { block.record.keepAlive }

    /// True if the client waits for `100 Continue` before it sends the body: HTTP/1.1, `Expect: 100-continue` and a
    /// body not announced as empty (RFC 9110 section 10.1.1).
    public var expectsContinue: Bool { block.record.expectsContinue }

    /// The number of field lines.
    public var fieldCount: Int { block.fieldCount }

    /// The requested host, with its port if one was sent: from a target in absolute form, which overrides Host (RFC
    /// 9112 section 3.2.2), else from Host. Nil only in HTTP/1.0; empty if the client knows no host.
    public var authority: String? { target.authority ?? value(of: "host") }

    /// The value of the first field with that name (in any case), without surrounding whitespace; nil if there is no
    /// such field.
    public func value(of name: String) -> String? {
        block.index(of: name).map { value(at: $0) }
    }

    /// The values of all fields with that name (in any case), in the order received.
    public func values(of name: String) -> [String] {
        var values: [String] = []
        var next = block.index(of: name)
        while let index = next {
            values.append(value(at: index))
            next = block.index(of: name, from: index &+ 1)
        }
        return values
    }

    /// The content codings of the body (RFC 9110 section 8.4), in the order in which they were applied; empty if it is
    /// not compressed.
    package var contentCodings: [String] {
        values(of: "content-encoding").joined(separator: ",").split(separator: ",")
            .map { $0.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }.lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
    }

    /// True if there is a field with that name (in any case). Allocates nothing.
    public func contains(_ name: String) -> Bool { block.index(of: name) != nil }

    /// The field line at `index`, from 0 in the order received; two empty strings outside `0..<fieldCount`.
    public func field(at index: Int) -> (name: String, value: String) {
        guard index >= 0 && index < fieldCount else { return ("", "") }
        let entry = block.entry(index)
        return (block.string(entry.nameStart, entry.nameEnd), block.string(entry.valueStart, entry.valueEnd))
    }

    private func value(at index: Int) -> String {
        let entry = block.entry(index)
        return block.string(entry.valueStart, entry.valueEnd)
    }
}
