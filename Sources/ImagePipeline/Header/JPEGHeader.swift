/// Reads the marker segments of a JPEG up to the first scan.
enum JPEGHeader {
    /// - Parameters:
    ///   - countsScans: false if only the header is needed. Otherwise scans are counted and the end marker is searched,
    ///     for which the whole file is read.
    ///   - isCancelled: called between batches of segments, and of bytes between segments.
    static func read(
        _ reader: ByteReader, countsScans: Bool = true, isCancelled: () -> Bool
    ) throws(ImageError) -> PictureHeader {
        var offset = 2
        var frame: Frame?
        var exif: [ByteReader] = []
        var xmp: ByteReader?
        var segments = 0
        while true {
            segments += 1
            if segments.isMultiple(of: PictureHeader.batch), isCancelled() { throw .cancelled }
            let marker = try nextMarker(reader, &offset, isCancelled: isCancelled)
            switch marker {
            case 0xD8, 0x01, 0xD0...0xD7:
                continue  // no length follows
            case 0xD9:
                throw .corrupt("the JPEG ends before its first scan")
            default:
                break
            }
            guard let length = reader.big16(offset) else { throw truncated(reader, "in its header") }
            guard length >= 2 else { throw .corrupt("the JPEG has a segment of length \(length) at byte \(offset)") }
            switch marker {
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                let other = try Frame(reader, marker, at: offset)
                guard frame == nil else { throw .corrupt("the JPEG has two frame headers") }
                frame = other
            case 0xE1 where reader.has("Exif\0\0", at: offset + 2):
                if exif.count < maximumEXIF { exif.append(reader.slice(offset + 8, length - 8)) }
            case 0xE1 where reader.has(xmpName, at: offset + 2):
                let name = 2 + xmpName.utf8CodeUnitCount
                xmp = reader.slice(offset + name, length - name)
            case 0xDA:
                guard let frame else { throw .corrupt("the JPEG has no frame header") }
                let info = ImageInfo(
                    format: .jpeg, width: frame.width, height: frame.height,
                    orientation: orientation(exif) ?? xmp.flatMap(XMP.orientation) ?? 1)
                let truncation = countsScans ? missingEnd(reader, scan: offset) : nil
                var header = PictureHeader(info: info, truncation: truncation)
                header.chromaUnevenness = frame.chromaUnevenness
                header.pixels = offset
                let together = reader.byte(offset + 2).map(Int.init) ?? 0
                if frame.isProgressive || together < frame.components {
                    header.coefficientBytes = frame.coefficientBytes
                    if countsScans { header.scans = try scans(reader, from: offset, isCancelled: isCancelled) }
                }
                return header
            default:
                break
            }
            offset += length
        }
    }

    /// A frame header.
    private struct Frame {
        let width: Int
        let height: Int
        let isProgressive: Bool
        let components: Int
        let chromaUnevenness: Double
        let coefficientBytes: Int

        init(_ reader: ByteReader, _ marker: UInt8, at offset: Int) throws(ImageError) {
            guard let height = reader.big16(offset + 3), let width = reader.big16(offset + 5) else {
                throw truncated(reader, "in its header")
            }
            if let reason = unsupported(marker, precision: reader.byte(offset + 2)) { throw .corrupt(reason) }
            guard width > 0, height > 0 else { throw .corrupt("the JPEG has \(width) x \(height) pixels") }
            (self.width, self.height) = (width, height)
            isProgressive = marker & 3 == 2
            components = reader.byte(offset + 7).map(Int.init) ?? 0
            chromaUnevenness = JPEGHeader.chromaUnevenness(reader, components: offset + 7)
            coefficientBytes = JPEGHeader.coefficientBytes(
                reader, width: width, height: height, components: offset + 7)
        }
    }

    /// The reason why a frame cannot be decoded: it uses a process of ITU-T T.81 that libjpeg-turbo lacks. (Arithmetic
    /// coding is supported.)
    private static func unsupported(_ marker: UInt8, precision: UInt8?) -> String? {
        switch marker {
        case 0xC3, 0xCB: return "the JPEG is lossless (ITU-T T.81, process 14): convert it to PNG or an ordinary JPEG"
        case 0xC5...0xC7, 0xCD...0xCF:
            return "the JPEG is hierarchical (several frames of different sizes): convert it to an ordinary JPEG"
        default: break
        }
        guard let precision, precision != 8 else { return nil }
        return "the JPEG has \(precision) bits for each sample, and Ocelli decodes 8: convert it to an ordinary JPEG"
    }

    private static let xmpName: StaticString = "http://ns.adobe.com/xap/1.0/\0"
    /// The maximum number of EXIF segments that are read: 1 MiB.
    private static let maximumEXIF = 16

    /// The orientation in EXIF data. Data larger than a segment continues in the next, each with the prefix.
    private static func orientation(_ exif: [ByteReader]) -> Int? {
        guard exif.count > 1 else { return exif.first.flatMap(EXIF.orientation) }
        let joined = exif.flatMap { Array($0.bytes) }
        return joined.withUnsafeBytes { EXIF.orientation(ByteReader($0)) }
    }

    /// The code after the next 0xFF. Moves the offset past it.
    private static func nextMarker(
        _ reader: ByteReader, _ offset: inout Int, isCancelled: () -> Bool
    ) throws(ImageError) -> UInt8 {
        // Skip bytes between segments, as libjpeg does; fill bytes are legal.
        for isFill in [false, true] {
            while let byte = reader.byte(offset), (byte == 0xFF) == isFill {
                offset += 1
                if offset.isMultiple(of: PictureHeader.batchOfBytes), isCancelled() { throw .cancelled }
            }
        }
        guard let marker = reader.byte(offset) else { throw truncated(reader, "in its header") }
        offset += 1
        return marker
    }

    /// The ratio of the chroma subsampling of one axis to that of the other: 1 for 4:4:4 and 4:2:0, 2 for 4:2:2 and
    /// 4:4:0, 4 for 4:1:1.
    private static func chromaUnevenness(_ reader: ByteReader, components: Int) -> Double {
        guard let count = reader.byte(components), count > 1, let first = reader.byte(components + 2) else { return 1 }
        var unevenness = 1.0
        for index in 1..<Int(count) {
            guard let other = reader.byte(components + 2 + index * 3) else { return unevenness }
            // Compare the ratios of luma's to chroma's sampling factors across and down.
            let across = Double(first >> 4) * Double(other & 15)
            let down = Double(first & 15) * Double(other >> 4)
            // libjpeg refuses a factor of 0.
            guard across > 0, down > 0 else { continue }
            unevenness = max(unevenness, across / down, down / across)
        }
        return unevenness
    }

    /// The number of bytes that libjpeg allocates for the coefficients of a whole picture: blocks of 64, 2 bytes each,
    /// in whole MCUs.
    private static func coefficientBytes(_ reader: ByteReader, width: Int, height: Int, components: Int) -> Int {
        let count = reader.byte(components).map(Int.init) ?? 0
        // libjpeg refuses a factor of 0.
        let factors = (0..<count).map { Int(reader.byte(components + 2 + $0 * 3) ?? 0) }
        let across = max(1, factors.map { $0 >> 4 }.max() ?? 1), down = max(1, factors.map { $0 & 15 }.max() ?? 1)
        return factors.reduce(0) { sum, factor in
            let columns = (width * (factor >> 4) + across * 8 - 1) / (across * 8) + (factor >> 4)
            let rows = (height * (factor & 15) + down * 8 - 1) / (down * 8) + (factor & 15)
            return sum + columns * rows * 128
        }
    }

    /// The number of scans up to the end marker, including the one with its length at `start`. Many cameras write a
    /// video or another picture after that marker. Counting takes a fraction of the time of decoding one scan.
    private static func scans(
        _ reader: ByteReader, from start: Int, isCancelled: () -> Bool
    ) throws(ImageError) -> Int {
        var count = 1
        var segments = 0
        var offset = start
        while let length = reader.big16(offset), length >= 2 {
            segments += 1
            if segments.isMultiple(of: PictureHeader.batch), isCancelled() { throw .cancelled }
            // Within a scan 0xFF begins a marker or is followed by a byte that escapes it.
            offset += length
            var marker: UInt8 = 0
            while [0x00, 0x01, 0xFF].contains(marker) || (0xD0...0xD7).contains(marker) {
                guard let found = reader.next(0xFF, from: offset), let code = reader.byte(found + 1) else {
                    return count
                }
                marker = code
                offset = found + (code == 0xFF ? 1 : 2)
            }
            if marker == 0xD9 { return count }
            if marker == 0xDA { count += 1 }
        }
        return count
    }

    private static func truncated(_ reader: ByteReader, _ place: String) -> ImageError {
        .truncated("the JPEG ends at byte \(reader.count), \(place)")
    }

    /// The error for a missing end marker. Within scans 0xFF is always escaped, so an EOI marker found there is one.
    /// The search starts at the end, where the marker nearly always is. Decoding may stop at the last needed row and
    /// would not notice that it is missing.
    private static func missingEnd(_ reader: ByteReader, scan: Int) -> String? {
        var position = reader.count - 1
        while position > scan {
            if reader.bytes[position] == 0xD9, reader.bytes[position - 1] == 0xFF { return nil }
            position -= 1
        }
        return "the JPEG ends at byte \(reader.count), within its pixels (no end marker)"
    }
}
