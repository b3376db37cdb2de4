/// The weight file of an ML Program (weights/weight.bin): records aligned to 64 bytes, identified by their offset.
///
/// Format: coremltools, mlmodel/src/MILBlob/Blob/StorageFormat.hpp and BlobDataType.hpp; little-endian.
package struct BlobFile: Sendable {
    private let bytes: Bytes

    private static let headerSize = 64
    private static let recordSize = 64
    private static let sentinel: UInt32 = 0xDEAD_BEEF
    private static let version: UInt32 = 2

    /// Throws if the header is invalid.
    package init(_ bytes: Bytes) throws(Problem) {
        try located("the weight file") { () throws(Problem) in try bytes.refuseForeignContent() }
        guard let header = bytes[0..<min(bytes.count, Self.headerSize)], header.count == Self.headerSize else {
            throw Problem(
                "the weight file has \(bytes.count) bytes, which is less than its header of \(Self.headerSize)")
        }
        let version = header.elements(UInt32.self)[1]
        guard version == Self.version else {
            throw Problem("the weight file has version \(version): expected \(Self.version)")
        }
        self.bytes = bytes
    }

    /// The elements of the record at `offset`. Throws if there is no record, or its type or size differs.
    package func elements(at offset: UInt64, type: MILDataType, count: Int) throws(Problem) -> Bytes {
        guard let start = Int(exactly: offset), start <= bytes.count - Self.recordSize,
            let record = bytes[start..<start + Self.recordSize]
        else {
            throw Problem("offset \(offset) is beyond the weight file, which has \(bytes.count) bytes")
        }
        let (words, numbers) = (record.elements(UInt32.self), record.elements(UInt64.self))
        guard words[0] == Self.sentinel else {
            throw Problem("there is no record at offset \(offset) of the weight file")
        }
        guard let stored = Self.types[words[1]] else {
            throw Problem("the record at offset \(offset) of the weight file has the unknown type \(words[1])")
        }
        // Booleans are stored as bytes.
        guard stored == type || (type == .bool && stored.bits == 8) else {
            throw Problem("the record at offset \(offset) of the weight file holds \(stored), not \(type)")
        }
        guard let size = Int(exactly: numbers[1]), let place = Int(exactly: numbers[2]), place <= bytes.count,
            size <= bytes.count - place, let data = bytes[place..<place + size]
        else {
            throw Problem(
                "the record at offset \(offset) of the weight file has \(numbers[1]) bytes at \(numbers[2]), beyond the "
                    + "file's end at \(bytes.count)")
        }
        guard type.byteCount(count) == size else {
            throw Problem(
                "the record at offset \(offset) of the weight file has \(size) bytes; \(count) elements of type \(type) "
                    + "take \(type.byteCount(count).map(String.init) ?? "more than 2^62")")
        }
        return data
    }

    private static let types: [UInt32: MILDataType] = [
        1: .float16, 2: .float32, 3: .uint8, 4: .int8, 5: .bfloat16, 6: .int16, 7: .uint16, 8: .int4, 9: .uint1,
        10: .uint2, 11: .uint4, 12: .uint3, 13: .uint6, 14: .int32, 15: .uint32,
    ]
}
