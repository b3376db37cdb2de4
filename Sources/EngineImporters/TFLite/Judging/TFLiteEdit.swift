internal import FileFormats

/// Changes to a FlatBuffer that move none of its parts: numbers overwritten in place, and bytes added after the end.
///
/// Offsets only point forward, so an old table may refer to a part that is added.
package struct TFLiteEdit: Sendable {
    /// The new 32-bit numbers and their positions in the file.
    package private(set) var numbers: [(place: Int, value: UInt32)] = []
    /// The bytes after the end of the file.
    package private(set) var tail: [UInt8] = []
    /// The size of the unchanged file in bytes.
    private let fileSize: Int

    init(fileSize: Int) { self.fileSize = fileSize }

    /// Overwrites the number at a position, which must be inside the unchanged file.
    mutating func write(_ value: Int, at place: Int) throws(JudgingError) {
        guard place >= 0, place <= fileSize - 4, let value = UInt32(exactly: value) else {
            throw JudgingError("it has a part at byte \(place) that cannot be changed")
        }
        numbers.append((place, value))
    }

    /// Overwrites the offset at a position, so that it refers to `target`.
    mutating func point(_ place: Int, at target: Int) throws(JudgingError) {
        guard target > place else {
            throw JudgingError("it has an offset at byte \(place) that does not point forward")
        }
        try write(target - place, at: place)
    }

    /// Adds a vector of 32-bit numbers, and returns its position.
    mutating func append(_ values: [Int]) throws(JudgingError) -> Int {
        let place = try align()
        append(UInt32(truncatingIfNeeded: values.count))
        for value in values { append(UInt32(bitPattern: Int32(truncatingIfNeeded: value))) }
        return place
    }

    /// Adds a string, and returns its position.
    mutating func append(_ string: String) throws(JudgingError) -> Int {
        let place = try align()
        append(UInt32(truncatingIfNeeded: string.utf8.count))
        tail += string.utf8
        tail.append(0)
        return place
    }

    /// The position of the next part, a multiple of four.
    private mutating func align() throws(JudgingError) -> Int {
        while (fileSize + tail.count) % 4 != 0 { tail.append(0) }
        guard fileSize + tail.count <= Int(Int32.max) else { throw JudgingError("it is too large") }
        return fileSize + tail.count
    }

    private mutating func append(_ value: UInt32) {
        withUnsafeBytes(of: value.littleEndian) { tail.append(contentsOf: $0) }
    }

    /// The changed file. Copies it once.
    /// - Parameter file: the unchanged file; the result is empty for one of another size.
    package func applied(to file: [UInt8]) -> [UInt8] {
        guard file.count == fileSize else { return [] }
        var changed: [UInt8] = []
        changed.reserveCapacity(file.count + tail.count)
        changed += file
        changed += tail
        for (place, value) in numbers {
            for index in 0..<4 { changed[place + index] = UInt8(truncatingIfNeeded: value >> (8 * UInt32(index))) }
        }
        return changed
    }
}

extension TFLiteEdit {
    /// Empties the list of signatures: the names in it may belong to other inputs and outputs. LiteRT then makes a
    /// signature with the inputs and outputs of the main subgraph in their order.
    mutating func removeSignatures(of model: FlatBuffer.Table) throws(JudgingError) {
        guard let list = try JudgingError.reading(try model.vector(7, elementBytes: 4)) else { return }
        try write(0, at: list.start - 4)
    }
}
