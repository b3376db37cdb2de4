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
