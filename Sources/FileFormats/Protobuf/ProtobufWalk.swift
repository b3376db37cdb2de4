/// Iterates over the fields of one protocol buffers message, without a schema and without loading skipped values.
package struct ProtobufWalk {
    private let source: ByteSource
    /// The end of the message, and the offset of the next field.
    private let end: Int
    private var position: Int

    /// - Parameter range: the range of the message in the source.
    package init(_ source: ByteSource, _ range: Range<Int>) {
        self.source = source
        position = range.lowerBound
        end = range.upperBound
    }

    /// The next field; nil at the end of the message.
    package mutating func next() throws(FormatError) -> ProtobufField? {
        guard position < end else { return nil }
        let (place, end) = (position, end)
        let head = try source.bytes(at: place, count: min(ProtobufField.maximumHeadBytes, end - place))
        let field = try head.withUnsafeBytes { ProtobufField.read($0, at: place, end: end) }.get()
        position = field.end
        return field
    }
}
