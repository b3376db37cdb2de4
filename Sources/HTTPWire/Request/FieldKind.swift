/// The fields that determine framing and connection handling; other fields are only stored.
enum FieldKind: Sendable {
    case other
    case host
    case contentLength
    case transferEncoding
    case connection
    case expect

    /// The kind of a field name. Compares the length first, because most names differ in it.
    @inline(__always)
    init(_ name: ByteSlice) {
        switch name.count {
        case 4 where name.equals(lowercase: "host"): self = .host
        case 6 where name.equals(lowercase: "expect"): self = .expect
        case 10 where name.equals(lowercase: "connection"): self = .connection
        case 14 where name.equals(lowercase: "content-length"): self = .contentLength
        case 17 where name.equals(lowercase: "transfer-encoding"): self = .transferEncoding
        default: self = .other
        }
    }
}
