/// Bytes that a socket did not take, in order.
struct PendingOutput {
    private var pieces: [[UInt8]] = []
    /// Bytes of the first piece that are sent.
    private var offset = 0

    var isEmpty: Bool { pieces.isEmpty }

    /// How many bytes are left.
    var count: Int { pieces.reduce(0) { $0 + $1.count } - (pieces.isEmpty ? 0 : offset) }

    /// Adds bytes, of which the first `sent` are gone already.
    mutating func append(_ bytes: [UInt8], sent: Int = 0) {
        guard sent < bytes.count else { return }
        if pieces.isEmpty { offset = sent }
        pieces.append(bytes)
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
                offset = 0
            }
        }
        pieces = []
        return 0
    }
}
