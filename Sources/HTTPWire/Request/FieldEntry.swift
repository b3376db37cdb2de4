/// The place of one field line in the head's text, counted from the head's first byte.
struct FieldEntry: Sendable, BitwiseCopyable {
    let nameStart: UInt32
    let nameEnd: UInt32
    let valueStart: UInt32
    let valueEnd: UInt32
}
