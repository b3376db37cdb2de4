/// Decodes a `multipart/form-data` body (RFC 7578, RFC 2046 section 5.1), incrementally or all at once.
///
/// Copies nothing: the data of a part is emitted as ranges of the input. Within one feed, the data of a part is one
/// range, so a body in one buffer is decoded without moving a byte.
public struct MultipartDecoder: Sendable {
    /// The output of a decoder, in the order of the bytes.
    public enum Event: Sendable, Hashable {
        /// The header of a part is complete.
        case partBegin(PartHeaders)
        /// Data of the part: offsets in the input of this feed, never empty. An empty part has no such event.
        case data(Range<Int>)
        /// The part is complete.
        case partEnd
        /// The closing boundary. Bytes after it are ignored.
        case end
    }

    private enum Phase: Sendable {
        case start, preamble
        case afterDelimiter, padding, delimiterFeed, closing
        case header, headerFeed
        case bodyStart, body
        case epilogue
    }

    /// CR LF `--` boundary.
    private let delimiter: [UInt8]
    private var limits: WireLimits
    private var phase = Phase.start
    /// The number of unconsumed bytes, from their start, that were already searched.
    private var scanned = 0
    private var header = PartHeaderParser()
    private var headerBytes = 0
    private var paddingBytes = 0
    private var parts = 0
    private var failure: WireError?

    /// A decoder for one body.
    ///
    /// - Parameter boundary: the result of `boundary(contentType:)`; a boundary that RFC 2046 does not allow fails at
    ///   the first feed.
    public init(boundary: [UInt8], limits: WireLimits = WireLimits()) {
        delimiter = [ASCII.carriageReturn, ASCII.lineFeed, ASCII.hyphen, ASCII.hyphen] + boundary
        self.limits = limits
        self.limits.multipartHeaderBytes = min(max(limits.multipartHeaderBytes, 0), 1 << 28)
        if !Self.isValid(boundary) { failure = WireError(.multipartBoundary) }
    }

    /// Continues with the body.
    ///
    /// - Parameters:
    ///   - bytes: all unconsumed bytes, with new ones at the end.
    ///   - emit: called with each event; an error that it throws ends the decoding.
    /// - Returns: the number of consumed bytes. The others (less than a boundary, or an incomplete header line) must
    ///   start the next feed.
    /// - Throws: the error in the input, and the same error again at every later call.
    @discardableResult
    public mutating func feed(
        _ bytes: UnsafeRawBufferPointer, _ emit: (Event) throws(WireError) -> Void
    ) throws(WireError) -> Int {
        if let failure { throw failure }
        do {
            var index = 0
            while index < bytes.count, try step(bytes, &index, emit) {}
            return index
        } catch {
            failure = error
            throw error
        }
    }

    /// Ends the body. Call it after the last feed.
    ///
    /// - Throws: if the closing boundary is missing.
    public func finish() throws(WireError) {
        if let failure { throw failure }
        if phase != .epilogue { throw WireError(.multipartIncomplete) }
    }

    /// Continues at `index`; returns false if more bytes are needed.
    private mutating func step(
        _ bytes: UnsafeRawBufferPointer, _ index: inout Int, _ emit: (Event) throws(WireError) -> Void
    ) throws(WireError) -> Bool {
        let byte = bytes[index]
        switch phase {
        case .start, .bodyStart:
            // In two places a boundary line follows without the CR LF that precedes all others: at the start of the
            // body, and after the header of a part without a body, whose CR LF ended the header.
            switch match(bytes, at: index, from: 2) {
            case .incomplete: return false
            case .no: phase = phase == .start ? .preamble : .body
            case .yes:
                if phase == .bodyStart { try emit(.partEnd) }
                index &+= delimiter.count &- 2
                phase = .afterDelimiter
            }
        case .preamble, .body: return try search(bytes, &index, emit)
        case .afterDelimiter, .padding:
            try takeAfterDelimiter(byte)
            index &+= 1
        case .closing:
            guard byte == ASCII.hyphen else { throw WireError(.multipartDelimiter, "it is followed by a single '-'") }
            index &+= 1
            phase = .epilogue
            try emit(.end)
        case .delimiterFeed:
            guard byte == ASCII.lineFeed else { throw WireError(.bareCR) }
            index &+= 1
            parts &+= 1
            guard parts <= limits.multipartParts else {
                throw WireError(.multipartParts, "the limit is \(limits.multipartParts)")
            }
            header = PartHeaderParser()
            headerBytes = 0
            phase = .header
        case .header: return try takeHeaderLine(bytes, &index)
        case .headerFeed:
            guard byte == ASCII.lineFeed else { throw WireError(.bareCR) }
            index &+= 1
            try emit(.partBegin(try header.end()))
            phase = .bodyStart
        case .epilogue: index = bytes.count
        }
        return true
    }

    private enum Match { case yes, no, incomplete }

    /// True if the delimiter without its first `skipped` bytes is at `index`.
    private func match(_ bytes: UnsafeRawBufferPointer, at index: Int, from skipped: Int) -> Match {
        delimiter.withUnsafeBufferPointer { delimiter in
            let count = min(delimiter.count &- skipped, bytes.count &- index)
            for offset in 0..<count where bytes[index &+ offset] != delimiter[skipped &+ offset] { return .no }
            return count == delimiter.count &- skipped ? .yes : .incomplete
        }
    }

    /// Searches for the delimiter by its CR. A boundary contains no CR, so no byte is compared twice, and the time is
    /// linear for any data.
    private mutating func search(
        _ bytes: UnsafeRawBufferPointer, _ index: inout Int, _ emit: (Event) throws(WireError) -> Void
    ) throws(WireError) -> Bool {
        var candidate = index
        var found = Match.no
        while found == .no {
            candidate = ByteScan.firstCarriageReturn(bytes, from: candidate, to: bytes.count)
            guard candidate < bytes.count else { break }
            found = match(bytes, at: candidate, from: 0)
            if found == .no { candidate &+= 1 }
        }
        if phase == .body && candidate > index { try emit(.data(index..<candidate)) }
        index = candidate
        guard found == .yes else { return false }
        if phase == .body { try emit(.partEnd) }
        index &+= delimiter.count
        phase = .afterDelimiter
        return true
    }

    /// Takes `--`, or blanks and CR LF. Other bytes would form a longer boundary with this one as a prefix, which RFC
    /// 2046 section 5.1.1 forbids in the data of a part.
    private mutating func takeAfterDelimiter(_ byte: UInt8) throws(WireError) {
        switch byte {
        case ASCII.hyphen where phase == .afterDelimiter: phase = .closing
        case ASCII.carriageReturn:
            phase = .delimiterFeed
            paddingBytes = 0
        case ASCII.space, ASCII.tab:
            phase = .padding
            paddingBytes &+= 1
            guard paddingBytes <= 64 else { throw WireError(.multipartDelimiter, "too many blanks follow it") }
        case ASCII.lineFeed: throw WireError(.bareLF)
        default: throw WireError(.multipartDelimiter, "it is followed by \(ASCII.describe(byte))")
        }
    }

    /// Takes a complete header line; `scanned` is the length of an incomplete one that was already searched.
    private mutating func takeHeaderLine(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) throws(WireError) -> Bool
    {
        let bound = index &+ max(limits.multipartHeaderBytes &- headerBytes, 0)
        let end = min(bytes.count, bound)
        var position = min(index &+ scanned, end)
        while position < end {
            position = ByteScan.firstControl(bytes, from: position, to: end)
            guard position < end, bytes[position] == ASCII.tab else { break }
            position &+= 1
        }
        scanned = position &- index
        guard position &+ 1 < bound else {
            throw WireError(.multipartHeaderTooLarge, "the limit is \(limits.multipartHeaderBytes) bytes")
        }
        guard position < end else { return false }
        guard bytes[position] == ASCII.carriageReturn else { throw headerFault(bytes[position]) }
        if position == index {
            index &+= 1
            scanned = 0
            phase = .headerFeed
            return true
        }
        guard position &+ 1 < end else { return false }
        guard bytes[position &+ 1] == ASCII.lineFeed else { throw WireError(.bareCR) }
        guard header.lines < limits.multipartHeaderCount else {
            throw WireError(.multipartHeaderTooLarge, "the limit is \(limits.multipartHeaderCount) lines")
        }
        try header.take(ByteSlice(bytes: bytes, start: index, end: position))
        headerBytes &+= position &+ 2 &- index
        index = position &+ 2
        scanned = 0
        return true
    }

    private func headerFault(_ byte: UInt8) -> WireError {
        byte == ASCII.lineFeed ? WireError(.bareLF) : WireError(.multipartHeader, "it contains \(ASCII.describe(byte))")
    }
}
