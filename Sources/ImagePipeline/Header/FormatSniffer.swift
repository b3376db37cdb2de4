/// Detects formats by their first bytes.
enum FormatSniffer {
    static func format(_ reader: ByteReader) -> ImageFormat? {
        if reader.byte(0) == 0xFF, reader.byte(1) == 0xD8, reader.byte(2) == 0xFF { return .jpeg }
        if reader.byte(0) == 0x89, reader.has("PNG\r\n\u{1A}\n", at: 1) { return .png }
        if reader.has("RIFF", at: 0), reader.has("WEBP", at: 8) { return .webp }
        return netpbm(reader) ?? confined(reader)
    }

    /// The format, if the first bytes are a P, a digit, and what may follow these.
    private static func netpbm(_ reader: ByteReader) -> ImageFormat? {
        guard reader.byte(0) == UInt8(ascii: "P"), let digit = reader.byte(1), let next = reader.byte(2) else {
            return nil
        }
        // Thumbnails of xv begin with "P7 332".
        if digit == UInt8(ascii: "7") { return next == 0x0A || reader.has("\r\n", at: 2) ? .pam : nil }
        guard (0x31...0x36).contains(digit), PNMHeader.Tokens.isSpace(next) || next == UInt8(ascii: "#") else {
            return nil
        }
        return [.pbm, .pgm, .ppm][Int(digit - 0x31) % 3]
    }

    /// The format, if it is one that is decoded in a separate process.
    private static func confined(_ reader: ByteReader) -> ImageFormat? {
        if reader.has("ftyp", at: 4) { return heif(reader) }
        if reader.has("GIF87a", at: 0) || reader.has("GIF89a", at: 0) { return .gif }
        if reader.has("\0\0\0\u{0C}JXL ", at: 0) || (reader.byte(0) == 0xFF && reader.byte(1) == 0x0A) { return .jxl }
        // Canon's raw files are TIFFs whose first page is a thumbnail.
        let isTIFF =
            ["II*\0", "MM\0*", "II+\0", "MM\0+"].contains { reader.has($0, at: 0) } && !reader.has("CR", at: 8)
        if isTIFF { return .tiff }
        // Text may begin with the same two letters.
        if reader.has("BM", at: 0), let header = reader.little32(14),
            [12, 16, 40, 52, 56, 64, 108, 124].contains(header)
        {
            return .bmp
        }
        return nil
    }

    /// The format of a picture in an ISO base media file: the first brand that identifies one decides.
    private static func heif(_ reader: ByteReader) -> ImageFormat? {
        let found = brand(reader) { offset in
            if ["avif", "avis"].contains(where: { reader.has($0, at: offset) }) { return ImageFormat.avif }
            let hevc: [StaticString] = ["heic", "heix", "heim", "heis", "hevc", "hevx"]
            return hevc.contains { reader.has($0, at: offset) } ? .heic : nil
        }
        return found ?? (reader.has("mif1", at: 8) || reader.has("msf1", at: 8) ? .heic : nil)
    }

    /// The first result for the major brand or the compatible brands, up to the end of the box.
    private static func brand<Answer>(_ reader: ByteReader, _ answer: (Int) -> Answer?) -> Answer? {
        let end = min(reader.big32(0) ?? 0, 256)
        for offset in [8] + Array(stride(from: 16, to: max(16, end - 3), by: 4)) {
            if let found = answer(offset) { return found }
        }
        return nil
    }

    /// The likely format of bytes that are not decoded, for the error message.
    static func resemblance(_ reader: ByteReader) -> String? {
        container(reader) ?? picture(reader) ?? document(reader) ?? text(reader)
    }

    /// The name of an ISO base media file's format, by brand.
    private static func container(_ reader: ByteReader) -> String? {
        let isMovie = reader.has("moov", at: 4) || reader.has("mdat", at: 4) || reader.has("wide", at: 4)
        guard reader.has("ftyp", at: 4) else { return isMovie ? "an MP4 or QuickTime file" : nil }
        return brand(reader) { reader.has("crx ", at: $0) ? "a Canon raw file" : nil } ?? "an MP4 or QuickTime file"
    }

    private static func picture(_ reader: ByteReader) -> String? {
        let starts: [(StaticString, String)] = [
            ("II*\0", "a camera raw file"), ("\0\0\0\u{0C}jP  ", "JPEG 2000"), ("8BPS", "a Photoshop document"),
            ("qoif", "QOI"), ("\0\0\u{01}\0", "an icon"), ("\0\0\u{02}\0", "a cursor"),
            ("DDS ", "DDS"), ("icns", "a macOS icon"), ("gimp xcf", "a GIMP document"),
            ("v/1\u{01}", "OpenEXR"), ("#?RADIANCE", "Radiance HDR"), ("SIMPLE  =", "FITS"),
            ("FUJIFILM", "a camera raw file"),
            ("IIU\0", "a camera raw file"), ("IIRO", "a camera raw file"), ("AT&TFORM", "DjVu"),
        ]
        for (start, name) in starts where reader.has(start, at: 0) {
            return name
        }
        let first = reader.big32(0) ?? 0
        if first == 0xFF4F_FF51 { return "JPEG 2000" }
        if first >> 8 == 0x4949BC { return "JPEG XR" }
        if first == 0x8A4D_4E47 || first == 0x8B4A_4E47 { return "MNG or JNG" }
        if first == 0x8950_4E47 {
            return "a PNG with converted line endings: send it as binary data"
        }
        if reader.has("DICM", at: 128) { return "DICOM" }
        return nil
    }

    private static func document(_ reader: ByteReader) -> String? {
        if reader.has("%PDF", at: 0) { return "PDF" }
        if reader.has("%!PS", at: 0) { return "PostScript" }
        if reader.has("PK\u{03}\u{04}", at: 0) { return "a ZIP archive" }
        if reader.byte(0) == 0x1F, reader.byte(1) == 0x8B { return "gzip" }
        let archives: [(StaticString, String)] = [
            ("7z", "a 7-Zip archive"), ("Rar!", "a RAR archive"), ("BZh", "bzip2"), ("OggS", "an Ogg file"),
            ("FLV", "a Flash video"), ("ID3", "MP3"), ("\0\0\u{01}", "an MPEG video"),
        ]
        for (start, name) in archives where reader.has(start, at: 0) {
            return name
        }
        if reader.has("RIFF", at: 0) { return "a RIFF file that is not WebP" }
        if reader.byte(0) == 0x1A, reader.byte(1) == 0x45, reader.byte(2) == 0xDF { return "a Matroska or WebM video" }
        return nil
    }

    /// True if the bytes are a picture's name instead of the picture: `curl --data-binary cat.jpg`, `-F image=cat.jpg`.
    private static func isFileName(_ reader: ByteReader) -> Bool {
        guard reader.count <= 1024 else { return false }
        let text = String(decoding: reader.bytes, as: UTF8.self)
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 }) else { return false }
        return ImageFormat.isPicture(named: text)
    }

    /// The kind of a text, after a byte order mark and white space, ignoring case.
    private static func text(_ reader: ByteReader) -> String? {
        var offset = 0
        if reader.byte(0) == 0xEF, reader.byte(1) == 0xBB, reader.byte(2) == 0xBF { offset = 3 }
        // U+FFFD, which replaces bytes that are not text: here the first byte of a JPEG or PNG.
        if reader.byte(0) == 0xEF, reader.byte(1) == 0xBF, reader.byte(2) == 0xBD {
            return "binary data that was converted to text: send the bytes unchanged"
        }
        while offset < 256, let byte = reader.byte(offset), byte == 0x20 || (0x09...0x0D).contains(byte) { offset += 1 }
        var start = ""
        for index in offset..<offset + 24 {
            guard let byte = reader.byte(index), byte < 0x80 else { break }
            start.unicodeScalars.append(Unicode.Scalar(byte))
        }
        if start.hasPrefix("/9j/") { return "a JPEG as base64 text: send its bytes" }
        if start.hasPrefix("iVBORw0KGgo") { return "a PNG as base64 text: send its bytes" }
        if start.hasPrefix("UklGR") { return "a WebP as base64 text: send its bytes" }
        if start.hasPrefix("R0lGOD") { return "a GIF as base64 text: send its bytes" }
        start = start.lowercased()
        for tag in ["<!doctype html", "<html", "<head", "<body"] where start.hasPrefix(tag) { return "HTML" }
        if start.hasPrefix("<svg") { return "SVG" }
        if start.hasPrefix("<?xml") || start.hasPrefix("<!doctype svg") { return "XML or SVG" }
        if start.hasPrefix("<!--") { return "HTML, XML or SVG" }
        if start.hasPrefix("{\\rtf") { return "an RTF document" }
        if start.hasPrefix("b'\\x") { return "a Python bytes literal: send the bytes themselves" }
        if start.hasPrefix("data:") { return "a data: URL: send the picture's bytes" }
        if start.hasPrefix("http://") || start.hasPrefix("https://") { return "a URL: send the picture's bytes" }
        if start.hasPrefix("{") || start.hasPrefix("[") { return "JSON" }
        if isFileName(reader) { return "a file name: send the file itself (with curl, put @ before the name)" }
        if start.hasPrefix("--") { return "a multipart body: declare it as multipart/form-data, with its boundary" }
        let isPrintable = start.utf8.allSatisfy { $0 >= 0x20 || (0x09...0x0D).contains($0) }
        return isPrintable && start.utf8.count >= min(24, max(1, reader.count - offset)) ? "text" : nil
    }
}
