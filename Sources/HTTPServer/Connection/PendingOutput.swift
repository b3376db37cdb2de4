/// A queue of bytes that a socket has not accepted yet.
struct PendingOutput {
    private var pieces: [[UInt8]] = []
    /// The number of bytes of the first piece that are sent.
    private var offset = 0

    /// The memory of the pieces, in bytes. A piece is held until all of it is sent.
    private(set) var heldBytes = 0

    var isEmpty: Bool { pieces.isEmpty }

    /// The number of bytes that are not sent.
    var count: Int { heldBytes - offset }

    /// Appends bytes, of which the first `sent` have been sent already.
    mutating func append(_ bytes: [UInt8], sent: Int = 0) {
        guard sent < bytes.count else { return }
        if pieces.isEmpty { offset = sent }
        pieces.append(bytes)
        heldBytes += bytes.count
    }

    /// Sends bytes until the queue is empty or `send` fails. `send` returns how many bytes it accepted, or a negated
    /// errno. Returns 0, or that negated errno.
    mutating func flush(_ send: (UnsafeRawBufferPointer) -> Int) -> Int {
        while let first = pieces.first {
            let taken = first.withUnsafeBytes { send(UnsafeRawBufferPointer(rebasing: $0[offset...])) }
            guard taken >= 0 else { return taken }
            offset += taken
            if offset >= first.count {
                pieces.removeFirst()
                heldBytes -= first.count
                offset = 0
            }
        }
        pieces = []
        return 0
    }
}
