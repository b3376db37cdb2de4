/// The offsets of one field line, from the first byte of the head.
struct FieldEntry: Sendable, BitwiseCopyable {
    let nameStart: UInt32
    let nameEnd: UInt32
    let valueStart: UInt32
    let valueEnd: UInt32
}
