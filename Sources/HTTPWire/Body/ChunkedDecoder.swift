/// Decodes the chunked coding of a request body (RFC 9112 section 7.1) in place: data is returned as slices of the
/// input.
///
/// Outside the data, a state machine of single bytes: it can stop and continue anywhere, keeps none of its input, and
/// consumes all input until the body is complete. Trailer fields are validated, limited and discarded: a sender may not
/// put fields there that matter to framing or routing (RFC 9110 section 6.5.1), and Ocelli reads none.
public struct ChunkedDecoder: Sendable {
    private enum Phase: Sendable {
        case sizeStart, size, extensionBlank, sizeFeed
        case extensionNameStart, extensionName, extensionNameEnd
        case extensionValueStart, extensionValue, extensionQuoted, extensionEscape, extensionValueEnd
        case data, dataReturn, dataFeed
        case trailerStart, trailerName, trailerValue, trailerFeed, endFeed
        case done
    }

    // Only the three limits it needs: a smaller value is cheaper to move.
    private let limits: (extensionBytes: Int, trailerBytes: Int, trailerFields: Int)
    private var phase = Phase.sizeStart
    /// The chunk size as far as its digits were read, then the missing bytes of the chunk's data.
    private var remaining: UInt64 = 0
    private var isLastChunk = false
    private var digits = 0
    private var extensionBytes = 0
    private var trailerBytes = 0
    private var trailerFields = 0
    private var nameIsEmpty = true
    private var failure: WireError?

    /// A decoder for one body.
    public init(limits: WireLimits = WireLimits()) {
        self.limits = (limits.chunkExtensionBytes, limits.trailerBytes, limits.fieldCount)
    }

    /// True after the last chunk and the trailer section were read.
    public var isDone: Bool { phase == .done }

    /// The missing bytes of the current chunk, as far as its size was read; the number can only grow until the data
    /// begins. The caller checks the body limit with it before the data arrives.
    public var announced: UInt64 {
        switch phase {
        case .data, .size, .sizeFeed, .extensionBlank, .extensionNameStart, .extensionName, .extensionNameEnd,
            .extensionValueStart, .extensionValue, .extensionQuoted, .extensionEscape, .extensionValueEnd:
            remaining
        default: 0
        }
    }

    /// Continues with the body.
    ///
    /// - Parameters:
    ///   - bytes: the input after the bytes consumed so far.
    ///   - body: called with each run of data, in order, never empty; valid only during the call. An error that it
    ///     throws ends the decoding.
    /// - Returns: the number of bytes that belong to this body (all, unless it is done), and whether it is done.
    /// - Throws: the error in the input, and the same error again at every later call.
    public mutating func decode(
        _ bytes: UnsafeRawBufferPointer, body: (UnsafeRawBufferPointer) throws(WireError) -> Void
    ) throws(WireError) -> (consumed: Int, done: Bool) {
        if let failure { throw failure }
        do {
            var index = 0
            while index < bytes.count && phase != .done {
                if phase == .data {
                    let count = Int(min(remaining, UInt64(bytes.count &- index)))
                    try body(UnsafeRawBufferPointer(rebasing: bytes[index..<(index &+ count)]))
                    remaining &-= UInt64(count)
                    index &+= count
                    if remaining == 0 { phase = .dataReturn }
                } else {
                    try take(bytes[index])
                    index &+= 1
                }
            }
            return (index, phase == .done)
        } catch {
            failure = error
            throw error
        }
    }

    private mutating func take(_ byte: UInt8) throws(WireError) {
        switch phase {
        case .sizeStart, .size: try takeSize(byte)
        case .extensionBlank, .extensionNameStart, .extensionName, .extensionNameEnd, .extensionValueStart,
            .extensionValue, .extensionQuoted, .extensionEscape, .extensionValueEnd:
            try takeExtension(byte)
        case .sizeFeed:
            guard byte == ASCII.lineFeed else { throw WireError(.bareCR) }
            phase = isLastChunk ? .trailerStart : .data
        case .dataReturn:
            guard byte == ASCII.carriageReturn else { throw WireError(.chunkEnd, "found \(ASCII.describe(byte))") }
            phase = .dataFeed
        case .dataFeed:
            guard byte == ASCII.lineFeed else { throw WireError(.chunkEnd, "found CR \(ASCII.describe(byte))") }
            phase = .sizeStart
        case .trailerStart, .trailerName, .trailerValue, .trailerFeed, .endFeed: try takeTrailer(byte)
        case .data, .done: break
        }
    }

    private mutating func takeSize(_ byte: UInt8) throws(WireError) {
        if let digit = ASCII.hexValue(byte) {
            if phase == .sizeStart {
                phase = .size
                remaining = 0
                digits = 0
            }
            digits &+= 1
            // The size is at most Int64.max. The number of digits is limited as well, so that zeros cannot continue
            // forever.
            guard remaining < 1 << 59 else { throw WireError(.chunkSizeTooLarge) }
            guard digits <= 16 else { throw WireError(.chunkSize, "it has more than 16 digits") }
            remaining = remaining &<< 4 | UInt64(digit)
            return
        }
        guard phase == .size else {
            throw byte == ASCII.lineFeed ? WireError(.bareLF) : WireError(.chunkSize, "\(ASCII.describe(byte)) came")
        }
        isLastChunk = remaining == 0
        switch byte {
        case ASCII.carriageReturn: phase = .sizeFeed
        case ASCII.semicolon, ASCII.space, ASCII.tab:
            phase = .extensionBlank
            try takeExtension(byte)
        case ASCII.lineFeed: throw WireError(.bareLF)
        default: throw WireError(.chunkSize, "\(ASCII.describe(byte)) came")
        }
    }

    /// `*( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )`, RFC 9112 section 7.1.1. Extensions are
    /// ignored, but their grammar is enforced: a parser that skips to any line end could see other chunks.
    private mutating func takeExtension(_ byte: UInt8) throws(WireError) {
        if byte == ASCII.carriageReturn {
            switch phase {
            case .extensionName, .extensionValue, .extensionValueEnd:
                phase = .sizeFeed
                return
            default: throw extensionFault(byte)
            }
        }
        extensionBytes &+= 1
        guard extensionBytes <= limits.extensionBytes else {
            throw WireError(.chunkExtensionTooLong, "the limit is \(limits.extensionBytes) bytes")
        }
        let isBlank = ASCII.isBlank(byte)
        let isToken = ByteSet.token.contains(byte)
        switch (phase, byte) {
        case (.extensionBlank, ASCII.semicolon), (.extensionName, ASCII.semicolon),
            (.extensionNameEnd, ASCII.semicolon),
            (.extensionValue, ASCII.semicolon), (.extensionValueEnd, ASCII.semicolon):
            phase = .extensionNameStart
        case (.extensionBlank, _) where isBlank, (.extensionNameStart, _) where isBlank,
            (.extensionNameEnd, _) where isBlank, (.extensionValueStart, _) where isBlank:
            break
        case (.extensionNameStart, _) where isToken, (.extensionName, _) where isToken: phase = .extensionName
        case (.extensionName, _) where isBlank: phase = .extensionNameEnd
        case (.extensionName, ASCII.equals), (.extensionNameEnd, ASCII.equals): phase = .extensionValueStart
        case (.extensionValueStart, ASCII.quote): phase = .extensionQuoted
        case (.extensionValueStart, _) where isToken, (.extensionValue, _) where isToken: phase = .extensionValue
        case (.extensionValue, _) where isBlank, (.extensionValueEnd, _) where isBlank: phase = .extensionBlank
        case (.extensionQuoted, ASCII.quote): phase = .extensionValueEnd
        case (.extensionQuoted, ASCII.backslash): phase = .extensionEscape
        case (.extensionQuoted, _) where isText(byte), (.extensionEscape, _) where isText(byte):
            phase = .extensionQuoted
        default: throw extensionFault(byte)
        }
    }

    private func isText(_ byte: UInt8) -> Bool { (byte >= 0x20 || byte == ASCII.tab) && byte != ASCII.delete }

    private func extensionFault(_ byte: UInt8) -> WireError {
        byte == ASCII.lineFeed ? WireError(.bareLF) : WireError(.chunkExtension, "\(ASCII.describe(byte)) came")
    }

    /// Takes a byte of the trailer section, field lines as in a head (RFC 9112 section 7.1.2).
    private mutating func takeTrailer(_ byte: UInt8) throws(WireError) {
        trailerBytes &+= 1
        guard trailerBytes <= limits.trailerBytes else {
            throw WireError(.trailersTooLarge, "the limit is \(limits.trailerBytes) bytes")
        }
        switch phase {
        case .trailerStart where byte == ASCII.carriageReturn: phase = .endFeed
        case .trailerStart:
            guard !ASCII.isBlank(byte) else { throw WireError(trailerFields == 0 ? .leadingBlank : .obsFold) }
            trailerFields &+= 1
            guard trailerFields <= limits.trailerFields else {
                throw WireError(.trailersTooLarge, "the limit is \(limits.trailerFields) fields")
            }
            nameIsEmpty = true
            phase = .trailerName
            try takeTrailerName(byte)
        case .trailerName: try takeTrailerName(byte)
        case .trailerValue:
            if byte == ASCII.carriageReturn {
                phase = .trailerFeed
            } else if !isText(byte) {
                throw RequestParser.valueFault(byte)
            }
        default:
            guard byte == ASCII.lineFeed else { throw WireError(.bareCR) }
            phase = phase == .endFeed ? .done : .trailerStart
        }
    }

    private mutating func takeTrailerName(_ byte: UInt8) throws(WireError) {
        if ByteSet.token.contains(byte) {
            nameIsEmpty = false
        } else if byte == ASCII.colon && !nameIsEmpty {
            phase = .trailerValue
        } else {
            throw RequestParser.nameFault(byte, isFirst: nameIsEmpty)
        }
    }
}
