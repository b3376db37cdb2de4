/// Parses the heads of the requests of one connection, one after the other (RFC 9112 sections 2 to 6).
///
/// It works on the receive buffer in place: the reader of the socket passes all bytes that are not consumed yet, from
/// the same start each time, and the parser continues where it stopped. It does not scan bytes twice.
/// The result does not depend on how the bytes were divided into reads.
///
/// The order of the checks is the order of the bytes: the first fault is the one that is reported. After a fault the
/// parser stays at it, so that nothing that follows can be taken for a request.
public struct RequestParser: Sendable {
    /// The state of the parser: the element that the byte at `position` belongs to.
    enum Phase: Sendable {
        case emptyLine, emptyLineFeed
        case method, target, version, requestLineFeed
        case fieldStart, fieldName, valueStart, value, fieldLineFeed, lastLineFeed
    }

    let limits: WireLimits
    var phase = Phase.emptyLine
    /// The next byte to look at, counted from the start of the buffer, like all offsets below.
    var position = 0
    /// The first byte of the request line.
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
    /// - Parameter limits: the bounds; those of bytes are clamped to 0...2^28.
    public init(limits: WireLimits = WireLimits()) {
        var limits = limits
        limits.requestLineBytes = min(max(limits.requestLineBytes, 0), 1 << 28)
        limits.headerBytes = min(max(limits.headerBytes, 0), 1 << 28)
        limits.methodBytes = min(max(limits.methodBytes, 0), limits.requestLineBytes)
        self.limits = limits
    }

    /// True if any byte of a request has come: to distinguish an idle connection from a slow client. An empty line
    /// before a request does not count.
    public var isAtStart: Bool {
        switch phase {
        case .emptyLine, .emptyLineFeed: true
        case .method: position == start
        default: false
        }
    }

    /// True if the request that is being parsed, or was refused, is a HEAD request: its answer has no body, whatever is
    /// wrong with it (RFC 9110 section 9.3.2). False until the method is known.
    public var isHead: Bool {
        switch phase {
        case .emptyLine, .emptyLineFeed, .method: false
        default: methodIsHead
        }
    }

    /// Goes on with the head of a request.
    ///
    /// - Parameter bytes: everything received and not yet consumed; after `.needMore`, the same bytes again with more
    ///   at the end (they may have moved in memory). Not kept.
    /// - Returns: the head once it is complete; the parser is then ready for the next request.
    /// - Throws: what is wrong, and the same again at every later call.
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

    /// True once the head is complete, false when bytes are missing.
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
