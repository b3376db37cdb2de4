/// Goes through the fields of one protocol buffers message, without a schema and without holding what it passes over.
package struct ProtobufWalk {
    private let source: ByteSource
    /// The end of the message, and the next field's place.
    private let end: Int
    private var position: Int

    /// - Parameter range: the message's place in the source.
    package init(_ source: ByteSource, _ range: Range<Int>) {
        self.source = source
        position = range.lowerBound
        end = range.upperBound
    }

    /// The next field, or nil at the message's end.
    package mutating func next() throws(FormatError) -> ProtobufField? {
        guard position < end else { return nil }
        let (place, end) = (position, end)
        let head = try source.bytes(at: place, count: min(ProtobufField.mostHeadBytes, end - place))
        let field = try head.withUnsafeBytes { ProtobufField.read($0, at: place, end: end) }.get()
        position = field.end
        return field
    }
}
