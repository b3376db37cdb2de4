/// The memory that decoding one picture needs besides the picture: kept from one to the next.
///
/// `@unchecked Sendable`: it goes from thread to thread, but only through the pool's lock, and belongs to exactly one
/// call between `ScratchPool.take` and `give`; nothing else refers to it.
final class Scratch: @unchecked Sendable {
    /// Rows as decoded.
    let rows = Memory()
    /// A whole picture, for those that do not come row by row.
    let whole = Memory()
    /// Rows that outputs are still to be made of.
    let ring = Memory()
    /// One row between the two passes.
    let between = Memory()
    /// One row of results.
    let result = Memory()
    /// libjpeg's state.
    let jpeg = JPEGDecoder()

    /// Bytes of each memory that are kept.
    private static let keep = 4 << 20

    func trim() {
        for memory in [rows, whole, ring, between, result] {
            memory.trim(to: Self.keep)
        }
    }
}
