/// The text of one head and the table of its field lines, in one allocation: the table first, then the text.
///
/// An array, and not a class with a tail, because an array is `Sendable` and bounds-checked without a word of proof.
struct HeadBlock: Sendable {
    private let storage: [UInt8]
    let fieldCount: Int

    /// Copies `text`, and the table that the parser made while it scanned it.
    init(text: UnsafeRawBufferPointer, fields: borrowing ContiguousArray<FieldEntry>) {
        let table = fields.count &* MemoryLayout<FieldEntry>.stride
        fieldCount = fields.count
        storage = fields.withUnsafeBytes { source in
            [UInt8](unsafeUninitializedCapacity: table &+ text.count) { target, count in
                let raw = UnsafeMutableRawBufferPointer(target)
                raw.copyMemory(from: source)
                UnsafeMutableRawBufferPointer(rebasing: raw[table...]).copyMemory(from: text)
                count = table &+ text.count
            }
        }
    }

    /// Calls `body` with the head's text.
    @inline(__always)
    func withText<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        storage.withUnsafeBytes { bytes in
            body(UnsafeRawBufferPointer(rebasing: bytes[(fieldCount &* MemoryLayout<FieldEntry>.stride)...]))
        }
    }

    /// The text between two offsets, bytes that are not UTF-8 replaced by U+FFFD.
    func string(_ start: UInt32, _ end: UInt32) -> String {
        withText { String(decoding: $0[Int(start)..<Int(end)], as: UTF8.self) }
    }

    /// The table's entry for field line `index`, below `fieldCount`.
    @inline(__always)
    func entry(_ index: Int) -> FieldEntry {
        storage.withUnsafeBytes {
            $0.loadUnaligned(fromByteOffset: index &* MemoryLayout<FieldEntry>.stride, as: FieldEntry.self)
        }
    }

    /// The first field line at or after `start` whose name is `name` in any case.
    func index(of name: String, from start: Int = 0) -> Int? {
        var name = name
        return name.withUTF8 { wanted in
            withText { text in
                for index in start..<max(start, fieldCount) {
                    let entry = entry(index)
                    guard Int(entry.nameEnd &- entry.nameStart) == wanted.count else { continue }
                    var same = true
                    for offset in 0..<wanted.count {
                        // Names are tokens: two of them that differ only in bit 5 of a letter differ only in case.
                        let one = text[Int(entry.nameStart) &+ offset]
                        let other = wanted[offset]
                        guard one != other else { continue }
                        guard one ^ other == 0x20, (one | 0x20) &- 0x61 < 26 else {
                            same = false
                            break
                        }
                    }
                    if same { return index }
                }
                return nil
            }
        }
    }
}
