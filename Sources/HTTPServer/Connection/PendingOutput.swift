/// Bytes that a socket did not take, in order.
struct PendingOutput {
    private var pieces: [[UInt8]] = []
    /// Bytes of the first piece that are sent.
    private var offset = 0

    /// Bytes of memory that the pieces take: a piece is held until all of it is sent.
    private(set) var held = 0

    var isEmpty: Bool { pieces.isEmpty }

    /// The number of bytes left.
    var count: Int { held - offset }

    /// Adds bytes, of which the first `sent` are gone already.
    mutating func append(_ bytes: [UInt8], sent: Int = 0) {
        guard sent < bytes.count else { return }
        if pieces.isEmpty { offset = sent }
        pieces.append(bytes)
        held += bytes.count
    }

    /// Sends as much as `send` takes: it is given bytes, and returns how many it took or a negated errno. Returns 0, or
    /// the negated errno that ended it.
    mutating func flush(_ send: (UnsafeRawBufferPointer) -> Int) -> Int {
        while let first = pieces.first {
            let taken = first.withUnsafeBytes { send(UnsafeRawBufferPointer(rebasing: $0[offset...])) }
            guard taken >= 0 else { return taken }
            offset += taken
            if offset >= first.count {
                pieces.removeFirst()
                held -= first.count
                offset = 0
            }
        }
        pieces = []
        return 0
    }
}
