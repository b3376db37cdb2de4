import CPNG

/// Finds the orientation in a PNG's chunks: eXIf, EXIF in hexadecimal text (as ImageMagick and ExifTool write it), or
/// XMP.
///
/// Of several chunks of a kind the last one counts, as in Pillow. Chunks are only recorded while the file is read: at
/// the end at most one of each kind is decompressed, and at most `maximumText` bytes of it.
struct PNGOrientation {
    /// The text of a chunk.
    private struct Text {
        let bytes: ByteReader
        let isCompressed: Bool
    }

    /// The maximum length of a text; Pillow refuses pictures with longer ones.
    private static let maximumText = 1 << 20
    private static let rawProfile: StaticString = "Raw profile type exif\0"
    private static let packet: StaticString = "XML:com.adobe.xmp\0"

    private var exif: ByteReader?
    private var raw: Text?
    private var xmp: Text?
    /// The XMP of the last iTXt chunk, even if it is not UTF-8; used only if there is no other XMP.
    private var xmpBytes: Text?

    /// Records a chunk.
    ///
    /// - Parameter type: the offset of the chunk's type.
    mutating func note(_ reader: ByteReader, type: Int, data: ByteReader) {
        if reader.has("eXIf", at: type) {
            exif = data
        } else if reader.has("tEXt", at: type) {
            noteText(data, isCompressed: false)
        } else if reader.has("zTXt", at: type) {
            noteText(data, isCompressed: true)
        } else if reader.has("iTXt", at: type) {
            noteInternational(data)
        }
    }

    /// The orientation, 1 to 8; nil if no chunk has one.
    func orientation() -> Int? {
        if let exif {
            if let orientation = EXIF.orientation(exif) { return orientation }
        } else if let raw, let orientation = Self.read(raw, Self.hexadecimal) {
            return orientation
        }
        if let xmp, Self.isEmpty(xmp) == false { return Self.read(xmp, XMP.orientation) }
        return xmpBytes.flatMap { Self.read($0, XMP.orientation) }
    }

    /// Records a tEXt or zTXt chunk (PNG, 11.3.3.2 and 11.3.3.3): a keyword, a zero, in zTXt a compression method, and
    /// the text.
    private mutating func noteText(_ data: ByteReader, isCompressed: Bool) {
        func text(after keyword: StaticString) -> Text? {
            guard data.has(keyword, at: 0) else { return nil }
            let start = keyword.utf8CodeUnitCount + (isCompressed ? 1 : 0)
            if isCompressed, data.byte(start - 1) != 0 { return nil }
            return Text(bytes: data.slice(start, data.count - start), isCompressed: isCompressed)
        }
        if let text = text(after: Self.rawProfile) { raw = text }
        if let text = text(after: Self.packet) { xmp = text }
        // Some writers use the name of the intended chunk as a keyword.
        if !isCompressed, data.has("exif\0", at: 0) { exif = data.slice(5, data.count - 5) }
    }

    /// Records an iTXt chunk (PNG, 11.3.3.4): a keyword, a zero, a compression flag and method, a language and a
    /// translated keyword, each with a zero, and the text.
    private mutating func noteInternational(_ data: ByteReader) {
        let isProfile = data.has(Self.rawProfile, at: 0)
        guard isProfile || data.has(Self.packet, at: 0) else { return }
        let start = (isProfile ? Self.rawProfile : Self.packet).utf8CodeUnitCount
        guard let flag = data.byte(start), flag == 0 || data.byte(start + 1) == 0,
            let language = data.next(0, from: start + 2), let translated = data.next(0, from: language + 1)
        else { return }
        let text = Text(bytes: data.slice(translated + 1, data.count - translated - 1), isCompressed: flag != 0)
        let isUTF8 = flag != 0 || text.bytes.count > Self.maximumText || Self.isUTF8(text.bytes)
        if isProfile {
            if isUTF8 { raw = text }
        } else {
            xmpBytes = text
            if isUTF8 { xmp = text }
        }
    }

    private static func isUTF8(_ reader: ByteReader) -> Bool {
        String(validating: reader.bytes, as: UTF8.self) != nil
    }

    private static func isEmpty(_ text: Text) -> Bool {
        read(text) { $0.count == 0 } ?? true
    }

    /// Calls `body` with the decompressed text; nil if it is damaged.
    private static func read<Result>(_ text: Text, _ body: (ByteReader) -> Result?) -> Result? {
        guard text.isCompressed else { return body(text.bytes.slice(0, maximumText)) }
        guard let start = text.bytes.bytes.baseAddress else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: maximumText, alignment: 1) { room in
            guard let base = room.baseAddress else { return nil }
            let count = cpng_inflate(start, text.bytes.count, base, room.count)
            return body(ByteReader(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room)[..<count])))
        }
    }

    /// The orientation in a profile as text: three lines (an empty one, a name, a length), then bytes in hexadecimal,
    /// on any number of lines.
    private static func hexadecimal(_ text: ByteReader) -> Int? {
        var offset = 0
        for _ in 0..<3 {
            guard let end = text.next(UInt8(ascii: "\n"), from: offset) else { return nil }
            offset = end + 1
        }
        return withUnsafeTemporaryAllocation(byteCount: text.count / 2 + 1, alignment: 1) { room in
            var count = 0
            var high: UInt8?
            while let byte = text.byte(offset) {
                offset += 1
                if byte == 0x20 || (0x09...0x0D).contains(byte) {
                    // Spaces are allowed between two bytes, not within one.
                    if high != nil { return nil }
                    continue
                }
                guard let digit = digit(byte) else { return nil }
                if let first = high {
                    room[count] = first << 4 | digit
                    count += 1
                    high = nil
                } else {
                    high = digit
                }
            }
            guard high == nil else { return nil }
            return EXIF.orientation(
                ByteReader(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room)[..<count])))
        }
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
