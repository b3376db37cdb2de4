internal import CInflate

/// The files of a zip archive, which may be appended to another file (PKWARE APPNOTE.TXT, 4.3), as TensorFlow Lite does
/// with labels.
package struct ZipDirectory {
    package struct Entry {
        package let name: String
        let compressedSize: Int, size: Int
        /// 0: stored, 8: deflated.
        let method: Int
        let isEncrypted: Bool
        let headerOffset: Int
    }

    package let entries: [Entry]
    /// The offset of the archive in the source, added to the archive's own offsets.
    private let shift: Int

    private static let maximumEntries = 1_000
    private static let endBytes = 22

    /// Nil if the source does not end with an archive.
    package init?(_ source: ByteSource) throws(FormatError) {
        guard source.count >= Self.endBytes else { return nil }
        let tail = min(source.count, Self.endBytes + 65_535)
        let tailStart = source.count - tail
        let bytes = Array(try source.bytes(at: tailStart, count: tail))
        guard
            let end = stride(from: tail - Self.endBytes, through: 0, by: -1).first(where: { place in
                bytes[place] == 0x50 && bytes[place + 1] == 0x4B && bytes[place + 2] == 5 && bytes[place + 3] == 6
                    && place + Self.endBytes + Int(bytes[place + 20]) + Int(bytes[place + 21]) << 8 <= tail
            })
        else { return nil }
        let place = tailStart + end
        let count = Int(try source.integer(UInt16.self, at: place + 10))
        let size = Int(try source.integer(UInt32.self, at: place + 12))
        let offset = Int(try source.integer(UInt32.self, at: place + 16))
        guard count <= Self.maximumEntries else {
            throw FormatError("ends in a zip archive of \(count) files: the limit is \(Self.maximumEntries)")
        }
        // The directory immediately precedes its end record. Its recorded offset counts from the start of the archive,
        // wherever that is.
        guard size <= place else {
            throw FormatError("ends in a zip archive whose directory has \(size) bytes: the file is smaller")
        }
        let start = place - size
        shift = start - offset
        var entries: [Entry] = []
        var position = start
        for _ in 0..<count {
            guard position + 46 <= place, try source.integer(UInt32.self, at: position) == 0x0201_4B50 else {
                throw FormatError("ends in a zip archive whose directory is damaged at byte \(position)")
            }
            let nameBytes = Int(try source.integer(UInt16.self, at: position + 28))
            let extra = Int(try source.integer(UInt16.self, at: position + 30))
            let comment = Int(try source.integer(UInt16.self, at: position + 32))
            entries.append(
                Entry(
                    name: String(decoding: try source.bytes(at: position + 46, count: nameBytes), as: UTF8.self),
                    compressedSize: Int(try source.integer(UInt32.self, at: position + 20)),
                    size: Int(try source.integer(UInt32.self, at: position + 24)),
                    method: Int(try source.integer(UInt16.self, at: position + 10)),
                    isEncrypted: try source.integer(UInt16.self, at: position + 8) & 1 == 1,
                    headerOffset: Int(try source.integer(UInt32.self, at: position + 42))))
            position += 46 + nameBytes + extra + comment
        }
        self.entries = entries
    }

    /// The contents of a file.
    /// - Parameter maximum: the maximum size in bytes, compressed or not.
    package func contents(_ entry: Entry, _ source: ByteSource, maximum: Int) throws(FormatError) -> [UInt8] {
        guard !entry.isEncrypted else { throw FormatError("has \"\(entry.name)\" encrypted in its zip archive") }
        guard entry.size <= maximum, entry.compressedSize <= maximum else {
            throw FormatError(
                "has \"\(entry.name)\" of \(max(entry.size, entry.compressedSize)) bytes in its zip archive: the limit is \(maximum)"
            )
        }
        let (header, overflow) = entry.headerOffset.addingReportingOverflow(shift)
        guard !overflow, header >= 0, header + 30 <= source.count,
            try source.integer(UInt32.self, at: header) == 0x0403_4B50
        else { throw FormatError("has no \"\(entry.name)\" where its zip archive says it is") }
        let start =
            header + 30 + Int(try source.integer(UInt16.self, at: header + 26))
            + Int(try source.integer(UInt16.self, at: header + 28))
        let packed = Array(try source.bytes(at: start, count: entry.compressedSize, maximum: maximum))
        switch entry.method {
        case 0: return packed
        case 8:
            // Room for one byte more than the declared size, to detect longer data.
            var unpacked = [UInt8](repeating: 0, count: entry.size + 1)
            let size = packed.withUnsafeBufferPointer { packed in
                unpacked.withUnsafeMutableBufferPointer { unpacked in
                    cinflate(packed.baseAddress, packed.count, unpacked.baseAddress, unpacked.count)
                }
            }
            guard size == entry.size else {
                throw FormatError(
                    "has \"\(entry.name)\" in its zip archive, which does not unpack to the declared \(entry.size) bytes"
                )
            }
            unpacked.removeLast()
            return unpacked
        default: throw FormatError("has \"\(entry.name)\" packed by the unsupported method \(entry.method)")
        }
    }
}
