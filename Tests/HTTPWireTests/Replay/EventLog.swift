/// The events of a replay, one on each line, as bytes: names and values may have any bytes.
struct EventLog {
    private(set) var lines: [[UInt8]] = []
    private var data: [UInt8] = []

    mutating func add(_ line: String) { lines.append(Array(line.utf8)) }

    /// Collects data: pieces form a single line in the end.
    mutating func addData(_ bytes: UnsafeRawBufferPointer) { data.append(contentsOf: bytes) }

    /// Writes the collected data, if there is any.
    mutating func endData(_ word: String) {
        guard !data.isEmpty else { return }
        lines.append(Array(word.utf8) + [0x20] + data)
        data.removeAll(keepingCapacity: true)
    }
}
