// Field lines: `field-name ":" OWS field-value OWS CRLF`, RFC 9112 section 5, and the final empty line.
extension RequestParser {
    /// Continues with the fields; returns true once the empty line is consumed.
    ///
    /// Long: the states of a line in the order of its bytes, in the server's hottest loop.
    mutating func advanceFields(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> Bool {
        let bound = fieldsStart &+ limits.headerBytes
        let end = min(bytes.count, bound)
        var index = position
        while index < end {
            switch phase {
            case .fieldStart:
                let byte = bytes[index]
                if byte == ASCII.carriageReturn {
                    index &+= 1
                    phase = .lastLineFeed
                    continue
                }
                guard !ASCII.isBlank(byte) else { throw WireError(fields.isEmpty ? .leadingBlank : .obsFold) }
                guard fields.count < limits.fieldCount else {
                    throw WireError(.tooManyFields, "the limit is \(limits.fieldCount) (max_header_fields)")
                }
                nameStart = index
                phase = .fieldName
            case .fieldName:
                index = ByteScan.firstNotNameLetter(bytes, from: index, to: end)
                while index < end && ByteSet.token.contains(bytes[index]) { index &+= 1 }
                guard index < end else { break }
                guard bytes[index] == ASCII.colon && index > nameStart else {
                    throw Self.nameFault(bytes[index], isFirst: index == nameStart)
                }
                nameEnd = index
                kind = FieldKind(ByteSlice(bytes: bytes, start: nameStart, end: nameEnd))
                index &+= 1
                phase = .valueStart
            case .valueStart:
                while index < end && ASCII.isBlank(bytes[index]) { index &+= 1 }
                guard index < end else { break }
                valueStart = index
                phase = .value
            case .value:
                index = ByteScan.firstControl(bytes, from: index, to: end)
                guard index < end else { break }
                let byte = bytes[index]
                if byte == ASCII.carriageReturn {
                    try takeField(bytes, valueEnd: index)
                    phase = .fieldLineFeed
                } else if byte != ASCII.tab {
                    throw Self.valueFault(byte)
                }
                index &+= 1
            case .fieldLineFeed:
                guard bytes[index] == ASCII.lineFeed else { throw WireError(.bareCR) }
                index &+= 1
                phase = .fieldStart
            default:
                guard bytes[index] == ASCII.lineFeed else { throw WireError(.bareCR) }
                position = index &+ 1
                return true
            }
        }
        position = index
        guard index < bound else {
            throw WireError(.headersTooLarge, "the limit is \(limits.headerBytes) bytes (max_header)")
        }
        return false
    }

    private mutating func takeField(_ bytes: UnsafeRawBufferPointer, valueEnd: Int) throws(WireError) {
        var end = valueEnd
        while end > valueStart && ASCII.isBlank(bytes[end &- 1]) { end &-= 1 }
        if kind != .other {
            try semantics.take(kind, ByteSlice(bytes: bytes, start: valueStart, end: end), version: version)
        }
        fields.append(
            FieldEntry(
                nameStart: UInt32(truncatingIfNeeded: nameStart &- start),
                nameEnd: UInt32(truncatingIfNeeded: nameEnd &- start),
                valueStart: UInt32(truncatingIfNeeded: valueStart &- start),
                valueEnd: UInt32(truncatingIfNeeded: end &- start)))
    }

    static func nameFault(_ byte: UInt8, isFirst: Bool) -> WireError {
        switch byte {
        case ASCII.space, ASCII.tab: WireError(.blankBeforeColon)
        case ASCII.lineFeed: WireError(.bareLF)
        case 0: WireError(.nul)
        case ASCII.carriageReturn: WireError(.fieldName, "the line has no colon")
        case ASCII.colon where isFirst: WireError(.fieldName, "the name is empty")
        default: WireError(.fieldName, "\(ASCII.describe(byte)) is not allowed in a name")
        }
    }

    static func valueFault(_ byte: UInt8) -> WireError {
        switch byte {
        case ASCII.lineFeed: WireError(.bareLF)
        case 0: WireError(.nul)
        default: WireError(.fieldValue, ASCII.describe(byte))
        }
    }
}
