/// The events of a replay, one a line, as bytes: names and values may be anything.
struct EventLog {
    private(set) var lines: [[UInt8]] = []
    private var data: [UInt8] = []

    mutating func add(_ line: String) { lines.append(Array(line.utf8)) }

    /// Data that arrives in pieces is one line in the end.
    mutating func addData(_ bytes: UnsafeRawBufferPointer) { data.append(contentsOf: bytes) }

    /// Writes the data collected so far, if there is any.
    mutating func endData(_ word: String) {
        guard !data.isEmpty else { return }
        lines.append(Array(word.utf8) + [0x20] + data)
        data.removeAll(keepingCapacity: true)
    }
}
