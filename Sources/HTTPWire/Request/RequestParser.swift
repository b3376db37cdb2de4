/// Parses the request heads of one connection, one after the other (RFC 9112 sections 2 to 6).
///
/// Works on the receive buffer in place: the caller passes all unconsumed bytes, from the same start each time, and the
/// parser continues where it stopped. It does not scan bytes twice. The result does not depend on how the bytes were
/// split into reads.
///
/// Checks are in the order of the bytes, so the first error is reported. A parser that has failed fails at every later
/// call, so that later bytes cannot be taken for a request.
public struct RequestParser: Sendable {
    /// The state of the parser: the syntax element at `position`.
    enum Phase: Sendable {
        case emptyLine, emptyLineFeed
        case method, target, version, requestLineFeed
        case fieldStart, fieldName, valueStart, value, fieldLineFeed, lastLineFeed
    }

    let limits: WireLimits
    var phase = Phase.emptyLine
    /// The offset of the next byte in the buffer. All offsets below count from the start of the buffer.
    var position = 0
    /// The offset of the request line.
    var start = 0
    var methodEnd = 0
    var methodIsHead = false
    var fieldsStart = 0
    var version = HTTPVersion.http11
    var target = TargetLayout()
    var nameStart = 0
    var nameEnd = 0
    var valueStart = 0
    var kind = FieldKind.other
    var fields: ContiguousArray<FieldEntry> = []
    var semantics = FieldSemantics()
    private var failure: WireError?

    /// A parser for one connection.
    ///
    /// - Parameter limits: the limits; those in bytes are clamped to 0...2^28.
    public init(limits: WireLimits = WireLimits()) {
        var limits = limits
        limits.requestLineBytes = min(max(limits.requestLineBytes, 0), 1 << 28)
        limits.headerBytes = min(max(limits.headerBytes, 0), 1 << 28)
        limits.methodBytes = min(max(limits.methodBytes, 0), limits.requestLineBytes)
        self.limits = limits
    }

    /// True if no byte of a request was received: distinguishes an idle connection from a slow client. An empty line
    /// before a request does not count.
    public var isAtStart: Bool {
        switch phase {
        case .emptyLine, .emptyLineFeed: true
        case .method: position == start
        default: false
        }
    }

    /// True if the current or refused request is a HEAD request: its answer has no body, even for an error (RFC 9110
    /// section 9.3.2). False until the method is known.
    public var isHead: Bool {
        switch phase {
        case .emptyLine, .emptyLineFeed, .method: false
        default: methodIsHead
        }
    }

    /// Continues with the head of a request.
    ///
    /// - Parameter bytes: all received and unconsumed bytes; after `.needMore`, the same bytes with more at the end
    ///   (they may have moved in memory). Not retained.
    /// - Returns: the complete head; the parser is then ready for the next request.
    /// - Throws: the error in the input, and the same error again at every later call.
    public mutating func parse(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> ParseResult {
        if let failure { throw failure }
        do {
            guard try advance(bytes) else { return .needMore }
            return makeHead(bytes)
        } catch {
            failure = error
            throw error
        }
    }

    /// Returns true once the head is complete, false if bytes are missing.
    private mutating func advance(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> Bool {
        switch phase {
        case .emptyLine, .emptyLineFeed, .method, .target, .version, .requestLineFeed:
            guard try advanceRequestLine(bytes) else { return false }
        default: break
        }
        guard try advanceFields(bytes) else { return false }
        try semantics.checkEnd(version: version)
        return true
    }

    private mutating func makeHead(_ bytes: UnsafeRawBufferPointer) -> ParseResult {
        let text = UnsafeRawBufferPointer(rebasing: bytes[start..<position])
        let record = HeadRecord(
            target: target, version: version, framing: semantics.framing,
            keepAlive: semantics.keepAlive(version: version),
            expectsContinue: semantics.expectsContinue(version: version),
            fieldCount: UInt32(truncatingIfNeeded: fields.count))
        let head = RequestHead(
            method: MethodName.method(ByteSlice(bytes: bytes, start: start, end: methodEnd)),
            block: HeadBlock(text: text, fields: fields, record: record))
        let consumed = position
        phase = .emptyLine
        position = 0
        fields.removeAll(keepingCapacity: true)
        semantics = FieldSemantics()
        return .head(head, consumed: consumed)
    }
}

/// The result of `RequestParser.parse`.
public enum ParseResult: Sendable {
    /// The head is incomplete: call again with the same bytes and more.
    case needMore
    /// A complete head. `consumed` bytes of the buffer are used; the body or the next request follows.
    case head(RequestHead, consumed: Int)
}

/// Creates methods from bytes: common ones from constants, without allocation.
enum MethodName {
    static func method(_ name: ByteSlice) -> HTTPMethod {
        switch name.count {
        case 3 where name.equalsExactly("GET"): .get
        case 3 where name.equalsExactly("PUT"): .put
        case 4 where name.equalsExactly("POST"): .post
        case 4 where name.equalsExactly("HEAD"): .head
        case 7 where name.equalsExactly("OPTIONS"): .options
        default: HTTPMethod(rawValue: name.string)
        }
    }
}

extension ByteSlice {
    /// True if the slice equals `word`, including case.
    func equalsExactly(_ word: StaticString) -> Bool {
        guard count == word.utf8CodeUnitCount else { return false }
        let expected = word.utf8Start
        for index in 0..<count where bytes[start &+ index] != expected[index] { return false }
        return true
    }
}
