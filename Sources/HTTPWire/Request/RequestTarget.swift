/// The target of a request (RFC 9112 section 3.2), validated when the request line was parsed.
///
/// The path is split into segments first and then decoded, exactly once. Encoded characters that decoding would turn
/// into syntax are refused: `%2F`, `%5C`, `%00` and other control characters, `.` and `..` segments in any spelling,
/// and bytes that are not UTF-8. So two servers in a chain cannot disagree on the resource.
public struct RequestTarget: Sendable {
    /// The form of the target.
    public enum Form: Sendable, Hashable, BitwiseCopyable {
        /// `/path?query`.
        case origin
        /// `http://host/path?query`.
        case absolute
        /// `*`, or an http URI without path or query, in an OPTIONS request (RFC 9112 section 3.2.4).
        case asterisk
    }

    private let block: HeadBlock
    private var layout: TargetLayout { block.record.target }

    init(block: HeadBlock) { self.block = block }

    /// The form of the target.
    public var form: Form { layout.form }

    /// The target as received.
    public var raw: String {
        let layout = layout
        return block.string(layout.start, layout.end)
    }

    /// The path, percent-decoded: it begins with `/`, except `*` in asterisk-form. `+` is not decoded.
    public var path: String {
        let layout = layout
        if layout.form == .asterisk { return "*" }
        if layout.pathStart == layout.pathEnd { return "/" }
        if !layout.pathIsEscaped { return rawPath }
        return block.withText { text in
            let slice = ByteSlice(bytes: text, start: Int(layout.pathStart), end: Int(layout.pathEnd))
            return String(decoding: PercentCoding.decode(slice, plusIsSpace: false), as: UTF8.self)
        }
    }

    /// The path as received; `/` or `*` if an absolute URI had no path.
    public var rawPath: String {
        let layout = layout
        if layout.form == .asterisk { return "*" }
        if layout.pathStart == layout.pathEnd { return "/" }
        return block.string(layout.pathStart, layout.pathEnd)
    }

    /// The query as received, without the `?`; nil if there is no `?`.
    public var query: String? {
        let layout = layout
        return layout.queryStart == 0 ? nil : block.string(layout.queryStart, layout.end)
    }

    /// Host and port of the absolute form; nil in the other forms.
    public var authority: String? {
        let layout = layout
        return layout.authorityStart == layout.authorityEnd
            ? nil : block.string(layout.authorityStart, layout.authorityEnd)
    }

    /// The `name=value` pairs of the query in order, percent-decoded, with `+` as a space. Empty pairs are skipped, and
    /// a name without `=` has an empty value. The escapes were validated with the request line.
    public func queryItems() -> [(name: String, value: String)] {
        let layout = layout
        guard layout.queryStart != 0 else { return [] }
        return block.withText { text in
            Self.items(of: ByteSlice(bytes: text, start: Int(layout.queryStart), end: Int(layout.end)), maximum: .max)
        }
    }

    /// The first `name=value` pairs of a body of the type `application/x-www-form-urlencoded`, decoded as those of a
    /// query. A `%` without two hexadecimal digits after it is kept.
    /// - Parameter maximum: the maximum number of pairs.
    package static func formItems(
        of body: UnsafeRawBufferPointer, maximum: Int
    ) -> [(name: String, value: String)] {
        items(of: ByteSlice(bytes: body, start: 0, end: body.count), maximum: maximum)
    }

    private static func items(of text: ByteSlice, maximum: Int) -> [(name: String, value: String)] {
        var items: [(name: String, value: String)] = []
        var start = text.start
        for index in text.start...text.end where index == text.end || text.bytes[index] == ASCII.ampersand {
            let pair = ByteSlice(bytes: text.bytes, start: start, end: index)
            start = index &+ 1
            guard items.count < maximum else { break }
            if !pair.isEmpty { items.append(item(pair)) }
        }
        return items
    }

    private static func item(_ pair: ByteSlice) -> (name: String, value: String) {
        var equals = pair.start
        while equals < pair.end && pair.bytes[equals] != ASCII.equals { equals &+= 1 }
        let name = ByteSlice(bytes: pair.bytes, start: pair.start, end: equals)
        let value = ByteSlice(bytes: pair.bytes, start: min(equals &+ 1, pair.end), end: pair.end)
        return (decode(name), decode(value))
    }

    private static func decode(_ slice: ByteSlice) -> String {
        for index in slice.start..<slice.end
        where slice.bytes[index] == ASCII.percent || slice.bytes[index] == ASCII.plus {
            return String(decoding: PercentCoding.decode(slice, plusIsSpace: true), as: UTF8.self)
        }
        return slice.string
    }
}
