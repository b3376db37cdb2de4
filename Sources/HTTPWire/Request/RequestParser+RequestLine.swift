// The request line: `method SP request-target SP HTTP-version CRLF`, RFC 9112 section 3. Exactly one space each:
// section 3 allows a server to be lenient about whitespace, but warns that leniency enables request smuggling.
extension RequestParser {
    /// Continues with the request line; returns true once it is complete and the fields begin at `position`.
    mutating func advanceRequestLine(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> Bool {
        while position < bytes.count {
            switch phase {
            case .emptyLine:
                // Accept one empty line before a request (RFC 9112 section 2.2): some clients end a body with it.
                if bytes[position] == ASCII.carriageReturn {
                    position &+= 1
                    phase = .emptyLineFeed
                } else {
                    start = position
                    phase = .method
                }
            case .emptyLineFeed:
                guard bytes[position] == ASCII.lineFeed else { throw WireError(.bareCR) }
                position &+= 1
                start = position
                phase = .method
            case .method: guard try advanceMethod(bytes) else { return false }
            case .target: guard try advanceTarget(bytes) else { return false }
            case .version: guard try advanceVersion(bytes) else { return false }
            default:
                guard bytes[position] == ASCII.lineFeed else { throw WireError(.bareCR) }
                position &+= 1
                fieldsStart = position
                phase = .fieldStart
                return true
            }
        }
        return false
    }

    private mutating func advanceMethod(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> Bool {
        while position < bytes.count {
            let byte = bytes[position]
            if byte == ASCII.space && position > start {
                methodEnd = position
                let method = ByteSlice(bytes: bytes, start: start, end: position)
                if method.equalsExactly("CONNECT") { throw WireError(.methodConnect) }
                methodIsHead = method.equalsExactly("HEAD")
                position &+= 1
                phase = .target
                return true
            }
            guard ByteSet.token.contains(byte) else { throw methodFault(byte) }
            guard position &- start < limits.methodBytes else {
                throw WireError(.methodTooLong, "the limit is \(limits.methodBytes) bytes")
            }
            position &+= 1
        }
        return false
    }

    private func methodFault(_ byte: UInt8) -> WireError {
        // The first byte of a TLS handshake record: a client used https:// on the plain port.
        if position == start && byte == 0x16 { return WireError(.tlsHandshake) }
        switch byte {
        case ASCII.lineFeed: return WireError(.bareLF)
        case ASCII.carriageReturn: return WireError(.requestLine)
        default: return WireError(.methodInvalid, "\(ASCII.describe(byte)) at byte \(position &- start)")
        }
    }

    private mutating func advanceTarget(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> Bool {
        // After the target, the line must have room for a space and eight bytes of version.
        let bound = start &+ limits.requestLineBytes &- 9
        let targetStart = methodEnd &+ 1
        position = ByteScan.firstNotVisible(bytes, from: position, to: max(position, min(bytes.count, bound &+ 1)))
        guard position <= bound else {
            throw WireError(.requestLineTooLong, "the limit is \(limits.requestLineBytes) bytes (max_request_line)")
        }
        guard position < bytes.count else { return false }
        switch bytes[position] {
        case ASCII.space where position > targetStart: break
        case ASCII.space, ASCII.tab, ASCII.carriageReturn: throw WireError(.requestLine)
        case ASCII.lineFeed: throw WireError(.bareLF)
        case let byte: throw WireError(.targetByte, ASCII.describe(byte))
        }
        let check = TargetCheck(target: ByteSlice(bytes: bytes, start: targetStart, end: position), origin: start)
        let method = ByteSlice(bytes: bytes, start: start, end: methodEnd)
        // For the preface of HTTP/2, "PRI * HTTP/2.0" (RFC 9113 section 3.4), report the version, which follows, as the
        // error.
        target = try check.run(
            isOptions: method.equalsExactly("OPTIONS"), isPreface: method.equalsExactly("PRI"))
        position &+= 1
        phase = .version
        return true
    }

    /// `HTTP/` DIGIT `.` DIGIT CR, byte by byte: reports the first invalid byte, even if later ones are missing.
    private mutating func advanceVersion(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> Bool {
        let versionStart = Int(target.end) &+ start &+ 1
        let pattern: StaticString = "HTTP/1.1\r"
        while position < bytes.count {
            let byte = bytes[position]
            let index = position &- versionStart
            switch index {
            case 5, 7: guard ASCII.isDigit(byte) else { throw versionFault(byte, index) }
            default: guard byte == pattern.utf8Start[index] else { throw versionFault(byte, index) }
            }
            position &+= 1
            guard index == 8 else { continue }
            let major = bytes[versionStart &+ 5] &- ASCII.zero
            let minor = bytes[versionStart &+ 7] &- ASCII.zero
            guard major == 1 else { throw WireError(.versionNotSupported, "HTTP/\(major).\(minor) came") }
            version = HTTPVersion(major: major, minor: minor)
            phase = .requestLineFeed
            return true
        }
        return false
    }

    private func versionFault(_ byte: UInt8, _ index: Int) -> WireError {
        switch byte {
        case ASCII.lineFeed: WireError(.bareLF)
        // A second space, or words after the version: the line does not have three parts.
        case ASCII.space, ASCII.tab: WireError(.requestLine)
        default: WireError(.versionInvalid, "\(ASCII.describe(byte)) at byte \(index)")
        }
    }
}
