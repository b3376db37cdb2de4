/// Tells formats by their first bytes.
enum FormatSniffer {
    static func format(_ reader: ByteReader) -> ImageFormat? {
        if reader.byte(0) == 0xFF, reader.byte(1) == 0xD8, reader.byte(2) == 0xFF { return .jpeg }
        if reader.byte(0) == 0x89, reader.has("PNG\r\n\u{1A}\n", at: 1) { return .png }
        if reader.has("RIFF", at: 0), reader.has("WEBP", at: 8) { return .webp }
        return nil
    }

    /// What bytes that are not decoded look like, for the error message.
    static func resemblance(_ reader: ByteReader) -> String? {
        container(reader) ?? picture(reader) ?? document(reader) ?? text(reader)
    }

    /// ISO base media files, by brand.
    private static func container(_ reader: ByteReader) -> String? {
        guard reader.has("ftyp", at: 4) else { return nil }
        for (brand, name) in brands where reader.has(brand, at: 8) {
            return name
        }
        return "an MP4 or QuickTime file"
    }

    private static var brands: [(StaticString, String)] {
        [
            ("avif", "AVIF"), ("avis", "AVIF"), ("heic", "HEIC"), ("heix", "HEIC"), ("heim", "HEIC"), ("heis", "HEIC"),
            ("hevc", "HEIC"), ("hevx", "HEIC"), ("mif1", "HEIC or AVIF"), ("msf1", "HEIC or AVIF"),
            ("jxl ", "JPEG XL"), ("crx ", "a Canon raw file"),
        ]
    }

    private static func picture(_ reader: ByteReader) -> String? {
        let starts: [(StaticString, String)] = [
            ("GIF87a", "GIF"), ("GIF89a", "GIF"), ("II*\0", "TIFF or a camera's raw file"),
            ("MM\0*", "TIFF or a camera's raw file"), ("II+\0", "BigTIFF"), ("MM\0+", "BigTIFF"),
            ("\0\0\0\u{0C}jP  ", "JPEG 2000"), ("\0\0\0\u{0C}JXL ", "JPEG XL"), ("8BPS", "a Photoshop document"),
            ("qoif", "QOI"), ("\0\0\u{01}\0", "an icon"), ("P5", "PNM"), ("P6", "PNM"), ("BM", "BMP"),
        ]
        for (start, name) in starts where reader.has(start, at: 0) {
            return name
        }
        if reader.byte(0) == 0xFF, reader.byte(1) == 0x0A { return "JPEG XL" }
        return nil
    }

    private static func document(_ reader: ByteReader) -> String? {
        if reader.has("%PDF", at: 0) { return "PDF" }
        if reader.has("PK\u{03}\u{04}", at: 0) { return "a ZIP archive" }
        if reader.byte(0) == 0x1F, reader.byte(1) == 0x8B { return "gzip" }
        if reader.has("RIFF", at: 0) { return "a RIFF file that is not WebP" }
        if reader.byte(0) == 0x1A, reader.byte(1) == 0x45, reader.byte(2) == 0xDF { return "a Matroska or WebM video" }
        return nil
    }

    /// Text, past a byte order mark and white space, whatever the case.
    private static func text(_ reader: ByteReader) -> String? {
        var offset = 0
        if reader.byte(0) == 0xEF, reader.byte(1) == 0xBB, reader.byte(2) == 0xBF { offset = 3 }
        while offset < 256, let byte = reader.byte(offset), byte == 0x20 || (0x09...0x0D).contains(byte) { offset += 1 }
        var start = ""
        for index in offset..<offset + 24 {
            guard let byte = reader.byte(index), byte < 0x80 else { break }
            start.unicodeScalars.append(Unicode.Scalar(byte))
        }
        if start.hasPrefix("/9j/") { return "a JPEG as base64 text: send its bytes" }
        if start.hasPrefix("iVBORw0KGgo") { return "a PNG as base64 text: send its bytes" }
        start = start.lowercased()
        if start.hasPrefix("<!doctype html") || start.hasPrefix("<html") { return "HTML" }
        if start.hasPrefix("<svg") { return "SVG" }
        if start.hasPrefix("<?xml") || start.hasPrefix("<!doctype svg") { return "XML or SVG" }
        if start.hasPrefix("data:image/") { return "a data: URL: send the picture's bytes" }
        if start.hasPrefix("http://") || start.hasPrefix("https://") { return "a URL: send the picture's bytes" }
        if start.hasPrefix("{") || start.hasPrefix("[") { return "JSON" }
        if start.hasPrefix("--") { return "a multipart body: declare its Content-Type with the boundary" }
        return nil
    }
}
