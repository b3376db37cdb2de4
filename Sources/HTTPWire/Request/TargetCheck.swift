/// Validates a request target and finds its parts: RFC 9112 section 3.2 and RFC 3986.
struct TargetCheck {
    /// The target. All bytes are visible ASCII.
    let target: ByteSlice
    /// The offset of the head's first byte in the buffer. The layout is relative to it.
    let origin: Int

    /// Validates the target.
    /// - Parameters:
    ///   - isOptions: true if the method is OPTIONS, the only one that accepts `*`.
    ///   - isPreface: true if the method is that of HTTP/2's preface.
    func run(isOptions: Bool, isPreface: Bool) throws(WireError) -> TargetLayout {
        var layout = TargetLayout()
        layout.start = offset(target.start)
        layout.end = offset(target.end)
        if target[0] == ASCII.slash {
            try checkPathAndQuery(from: target.start, into: &layout)
        } else if target.count == 1 && target[0] == ASCII.asterisk {
            guard isOptions || isPreface else {
                throw WireError(.targetForm, "'*' is for OPTIONS only")
            }
            layout.form = .asterisk
        } else {
            try checkAbsolute(isOptions: isOptions, into: &layout)
        }
        return layout
    }

    private func offset(_ index: Int) -> UInt32 { UInt32(truncatingIfNeeded: index &- origin) }

    private func checkAbsolute(isOptions: Bool, into layout: inout TargetLayout) throws(WireError) {
        guard let start = afterScheme() else { throw WireError(.targetForm) }
        var end = start
        while end < target.end, target.bytes[end] != ASCII.slash, target.bytes[end] != ASCII.question { end &+= 1 }
        let authority = ByteSlice(bytes: target.bytes, start: start, end: end)
        // An http URI without a host is invalid (RFC 9110 section 4.2.1), and so is one with user information (4.2.4),
        // which `Authority` refuses because '@' is not allowed in a host.
        guard !authority.isEmpty, Authority.isValid(authority), authority[0] != ASCII.colon else {
            throw WireError(.targetAuthority)
        }
        // RFC 9110 section 7.4: https resources are served over TLS only, which Ocelli does not have.
        guard target[4] == ASCII.colon else { throw WireError(.targetScheme) }
        layout.form = .absolute
        layout.authorityStart = offset(start)
        layout.authorityEnd = offset(end)
        layout.pathStart = offset(end)
        layout.pathEnd = offset(end)
        if end < target.end {
            try checkPathAndQuery(from: end, into: &layout)
        } else if isOptions {
            layout.form = .asterisk
        }
    }

    /// The offset after `http://` or `https://`; nil if the target begins with neither.
    private func afterScheme() -> Int? {
        for scheme: StaticString in ["http://", "https://"] {
            let length = scheme.utf8CodeUnitCount
            guard target.count >= length else { continue }
            let start = ByteSlice(bytes: target.bytes, start: target.start, end: target.start &+ length)
            if start.equals(lowercase: scheme) { return start.end }
        }
        return nil
    }

    private func checkPathAndQuery(from start: Int, into layout: inout TargetLayout) throws(WireError) {
        layout.pathStart = offset(start)
        var segment = Segment()
        var hasHighBytes = false
        var index = start
        while index < target.end {
            let byte = target.bytes[index]
            if byte == ASCII.question { break }
            if byte == ASCII.slash {
                try segment.end()
                index &+= 1
                continue
            }
            guard ByteSet.path.contains(byte) else { throw WireError(.targetByte, ASCII.describe(byte)) }
            if byte == ASCII.percent {
                let value = try escaped(at: index)
                guard value != ASCII.slash && value != ASCII.backslash else { throw WireError(.targetSlash) }
                guard value >= 0x20 && value != ASCII.delete else { throw WireError(.targetControl) }
                layout.pathIsEscaped = true
                hasHighBytes = hasHighBytes || value >= 0x80
                segment.take(value)
                index &+= 3
            } else {
                segment.take(byte)
                index &+= 1
            }
        }
        try segment.end()
        layout.pathEnd = offset(index)
        if hasHighBytes { try checkText(from: start, to: index) }
        if index < target.end { try checkQuery(from: index &+ 1, into: &layout) }
    }

    private func checkQuery(from start: Int, into layout: inout TargetLayout) throws(WireError) {
        layout.queryStart = offset(start)
        var hasHighBytes = false
        var index = start
        while index < target.end {
            let byte = target.bytes[index]
            guard ByteSet.query.contains(byte) else { throw WireError(.targetByte, ASCII.describe(byte)) }
            if byte == ASCII.percent {
                let value = try escaped(at: index)
                // A value may contain line breaks (typed text), but not NUL, which ends C strings.
                guard value != 0 else { throw WireError(.targetControl) }
                hasHighBytes = hasHighBytes || value >= 0x80
                index &+= 3
            } else {
                index &+= 1
            }
        }
        if hasHighBytes { try checkText(from: start, to: target.end) }
    }

    private func escaped(at index: Int) throws(WireError) -> UInt8 {
        guard let value = PercentCoding.escaped(target.bytes, at: index, end: target.end) else {
            throw WireError(.targetEscape)
        }
        return value
    }

    // Refuse text that is not UTF-8: a String would repair it, which could make different names equal.
    private func checkText(from start: Int, to end: Int) throws(WireError) {
        let slice = ByteSlice(bytes: target.bytes, start: start, end: end)
        let decoded = PercentCoding.decode(slice, plusIsSpace: false)
        guard String(validating: decoded, as: UTF8.self) != nil else { throw WireError(.targetText) }
    }

    /// Recognizes `.` and `..` segments after decoding (RFC 3986 section 6.2.2).
    private struct Segment {
        private var length = 0
        private var isDots = true

        @inline(__always)
        mutating func take(_ byte: UInt8) {
            length &+= 1
            isDots = isDots && byte == ASCII.dot
        }

        mutating func end() throws(WireError) {
            if isDots && (length == 1 || length == 2) { throw WireError(.targetDots) }
            length = 0
            isDots = true
        }
    }
}

/// The offsets of the parts of a request target in the head's text, found when the request line is validated.
struct TargetLayout: Sendable, BitwiseCopyable {
    var form = RequestTarget.Form.origin
    /// True if the path contains a `%`.
    var pathIsEscaped = false
    var start: UInt32 = 0
    var end: UInt32 = 0
    var authorityStart: UInt32 = 0
    var authorityEnd: UInt32 = 0
    var pathStart: UInt32 = 0
    var pathEnd: UInt32 = 0
    /// The offset of the byte after the `?`, or 0 if there is no query.
    var queryStart: UInt32 = 0
}
