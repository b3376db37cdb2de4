/// The memory that decoding one picture needs in addition to the picture. It is reused for later pictures.
///
/// `@unchecked Sendable`: threads pass it on only through the pool's lock, and it belongs to exactly one call between
/// `ScratchPool.take` and `give`; nothing else refers to it.
final class Scratch: @unchecked Sendable {
    /// Decoded rows.
    let rows = Memory()
    /// A whole picture, for formats that cannot be decoded by rows.
    let whole = Memory()
    /// Source rows that are still needed for outputs.
    let ring = Memory()
    /// One row between the two passes.
    let between = Memory()
    /// One row of results.
    let result = Memory()
    /// libjpeg's state.
    let jpeg = JPEGDecoder()

    /// The maximum number of bytes of each buffer that are kept.
    private static let keep = 4 << 20

    func trim() {
        for memory in [rows, whole, ring, between, result] {
            memory.trim(to: Self.keep)
        }
    }
}
