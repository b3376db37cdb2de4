/// A head in one allocation: the record, the table of its field lines, and its text.
///
/// An array rather than a class with tail allocation: an array is `Sendable` and bounds-checked without a proof, and a
/// single reference keeps a head three words in size.
struct HeadBlock: Sendable {
    private let storage: [UInt8]

    private static var tableStart: Int { MemoryLayout<HeadRecord>.stride }
    private static var entrySize: Int { MemoryLayout<FieldEntry>.stride }

    /// Copies `text` and the parser's table of field lines, whose length is in the record.
    init(text: UnsafeRawBufferPointer, fields: borrowing ContiguousArray<FieldEntry>, record: HeadRecord) {
        // Append instead of initializing in place, for which the standard library looks up the type of the array each
        // time.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.tableStart &+ fields.count &* Self.entrySize &+ text.count)
        withUnsafeBytes(of: record) { record in
            bytes.append(contentsOf: record)
            for _ in record.count..<Self.tableStart { bytes.append(0) }
        }
        fields.withUnsafeBytes { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: text)
        storage = bytes
    }

    var record: HeadRecord { storage.withUnsafeBytes { $0.loadUnaligned(as: HeadRecord.self) } }

    var fieldCount: Int { Int(record.fieldCount) }

    /// Calls `body` with the head's text.
    @inline(__always)
    func withText<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        storage.withUnsafeBytes { bytes in
            body(UnsafeRawBufferPointer(rebasing: bytes[(Self.tableStart &+ fieldCount &* Self.entrySize)...]))
        }
    }

    /// The text between two offsets; bytes that are not UTF-8 are replaced by U+FFFD.
    func string(_ start: UInt32, _ end: UInt32) -> String {
        withText { String(decoding: $0[Int(start)..<Int(end)], as: UTF8.self) }
    }

    /// The table entry of field line `index`, which must be below `fieldCount`.
    @inline(__always)
    func entry(_ index: Int) -> FieldEntry {
        storage.withUnsafeBytes {
            $0.loadUnaligned(fromByteOffset: Self.tableStart &+ index &* Self.entrySize, as: FieldEntry.self)
        }
    }

    /// The index of the first field line with the name `name` from `start` on, ignoring case.
    func index(of name: String, from start: Int = 0) -> Int? {
        var name = name
        return name.withUTF8 { searchedName in
            withText { text in
                for index in start..<max(start, fieldCount) {
                    let entry = entry(index)
                    guard Int(entry.nameEnd &- entry.nameStart) == searchedName.count else { continue }
                    if Self.isSame(text, Int(entry.nameStart), searchedName) { return index }
                }
                return nil
            }
        }
    }

    /// True if the name at `start` equals `searchedName`, which has the same length, ignoring the case of letters.
    private static func isSame(
        _ text: UnsafeRawBufferPointer, _ start: Int, _ searchedName: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        for offset in 0..<searchedName.count {
            let one = text[start &+ offset]
            let other = searchedName[offset]
            if one != other && (one ^ other != 0x20 || (one | 0x20) &- 0x61 >= 26) { return false }
        }
        return true
    }
}

/// The parser's results for a head, except its text and fields.
struct HeadRecord: Sendable, BitwiseCopyable {
    var target: TargetLayout
    var version: HTTPVersion
    var framing: BodyFraming
    var keepAlive: Bool
    var expectsContinue: Bool
    var fieldCount: UInt32
}

/// The offsets of one field line, from the first byte of the head.
struct FieldEntry: Sendable, BitwiseCopyable {
    let nameStart: UInt32
    let nameEnd: UInt32
    let valueStart: UInt32
    let valueEnd: UInt32
}
