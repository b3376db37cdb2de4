/// Appends the heads of responses (RFC 9112 sections 4 and 5) to a buffer.
///
/// A field whose name is not a token, or whose value has a control character other than HTAB (such as CR, LF or NUL),
/// is omitted, so that client input cannot split a response. `isValid` tells whether a field is omitted.
public enum ResponseSerializer {
    /// Appends the status line, all fields of `head`, and the empty line.
    public static func append(_ head: ResponseHead, to out: inout [UInt8]) {
        appendStatusLine(head.status, to: &out)
        for field in head.fields { appendField(field.name, field.value, to: &out) }
        appendEnd(to: &out)
    }

    /// Appends `HTTP/1.1 200 OK` CR LF. Answers to HTTP/1.0 have this version, too (RFC 9110 section 2.5).
    public static func appendStatusLine(_ status: HTTPStatus, to out: inout [UInt8]) {
        append("HTTP/1.1 ", to: &out)
        let code = UInt8(clamping: status.code / 100)
        out.append(ASCII.zero &+ code)
        out.append(ASCII.zero &+ UInt8(clamping: status.code / 10 % 10))
        out.append(ASCII.zero &+ UInt8(clamping: status.code % 10))
        out.append(ASCII.space)
        append(status.reason, to: &out)
        appendLineEnd(to: &out)
    }

    /// Appends a field line. Writes nothing and returns false if the field is not valid.
    @discardableResult
    public static func appendField(_ name: String, _ value: String, to out: inout [UInt8]) -> Bool {
        guard isValid(name: name, value: value) else { return false }
        append(name, to: &out)
        out.append(ASCII.colon)
        out.append(ASCII.space)
        append(value, to: &out)
        appendLineEnd(to: &out)
        return true
    }

    /// Appends a field line with a number, such as Content-Length.
    public static func appendField(_ name: StaticString, number: UInt64, to out: inout [UInt8]) {
        append(name, to: &out)
        out.append(ASCII.colon)
        out.append(ASCII.space)
        appendDecimal(number, to: &out)
        appendLineEnd(to: &out)
    }

    /// Appends the `Date` field (RFC 9110 section 6.6.1) for a time in seconds since 1970.
    public static func appendDate(unixSeconds: Int64, to out: inout [UInt8]) {
        append("Date: ", to: &out)
        HTTPDate.append(unixSeconds: unixSeconds, to: &out)
        appendLineEnd(to: &out)
    }

    /// Appends the empty line that ends a head.
    public static func appendEnd(to out: inout [UInt8]) { appendLineEnd(to: &out) }

    /// Appends a complete interim response: `100 Continue` or `102 Processing`, without fields (RFC 9110 section 15.2).
    public static func appendInterim(_ status: HTTPStatus, to out: inout [UInt8]) {
        appendStatusLine(status, to: &out)
        appendLineEnd(to: &out)
    }

    /// Appends a number in decimal.
    public static func appendDecimal(_ number: UInt64, to out: inout [UInt8]) {
        var divisor: UInt64 = 1
        while number / divisor >= 10 { divisor &*= 10 }
        while divisor > 0 {
            out.append(ASCII.zero &+ UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
    }

    /// True if a field can be written: the name is a token, and the value has no control character except HTAB.
    public static func isValid(name: String, value: String) -> Bool {
        var name = name
        var value = value
        let nameIsValid = name.withUTF8 { name in
            for byte in name where !ByteSet.token.contains(byte) { return false }
            return !name.isEmpty
        }
        guard nameIsValid else { return false }
        return value.withUTF8 { value in
            let bytes = UnsafeRawBufferPointer(value)
            var index = 0
            while true {
                index = ByteScan.firstControl(bytes, from: index, to: bytes.count)
                guard index < bytes.count else { return true }
                guard bytes[index] == ASCII.tab else { return false }
                index &+= 1
            }
        }
    }

    private static func append(_ text: String, to out: inout [UInt8]) {
        var text = text
        text.withUTF8 { out.append(contentsOf: $0) }
    }

    static func append(_ text: StaticString, to out: inout [UInt8]) {
        out.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private static func appendLineEnd(to out: inout [UInt8]) {
        out.append(ASCII.carriageReturn)
        out.append(ASCII.lineFeed)
    }
}

/// The head of a response.
public struct ResponseHead: Sendable {
    /// The status.
    public var status: HTTPStatus
    /// The fields, in the order of writing.
    public var fields: [(name: String, value: String)]

    /// A head with that status and fields.
    public init(status: HTTPStatus, fields: [(name: String, value: String)] = []) {
        self.status = status
        self.fields = fields
    }
}
