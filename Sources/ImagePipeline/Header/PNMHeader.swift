/// The samples of a PBM, PGM, PPM or PAM.
struct PNMSamples: Hashable {
    /// The way samples are written.
    enum Coding: Hashable {
        /// Decimal text, with white space between the numbers.
        case text
        /// The digits 0 and 1, with or without white space.
        case digits
        /// Eight to a byte, rows padded to bytes.
        case bits
        case bytes
        /// 16 bits, the upper byte first.
        case words
    }

    var coding: Coding
    /// The number of samples of a pixel: gray, gray and opacity, colours, colours and opacity.
    var channels: Int
    /// The sample that stands for 255.
    var maximum: Int
    /// True if 0 is white.
    var isInverted = false

    /// The raw frame that has the same bytes; nil if samples must be computed.
    var format: RawFrame.Format? {
        guard coding == .bytes, maximum == 255 else { return nil }
        switch channels {
        case 1: return .gray8
        case 3: return .rgb
        case 4: return .rgba
        default: return nil
        }
    }

    /// The bytes of a row; nil if they vary. The width is at most 65,535.
    func rowBytes(_ width: Int) -> Int? {
        switch coding {
        case .text, .digits: nil
        case .bits: (width + 7) / 8
        case .bytes: width * channels
        case .words: width * channels * 2
        }
    }

    /// The least number of bytes of all samples; clamped.
    func leastBytes(width: Int, height: Int) -> Int {
        func product(_ first: Int, _ second: Int) -> Int {
            let (product, overflow) = first.multipliedReportingOverflow(by: second)
            return overflow ? .max : product
        }
        let samples = product(product(width, height), channels)
        switch coding {
        // A digit and a blank each; the last one needs no blank.
        case .text: return samples > .max / 2 ? .max : 2 * samples - 1
        case .digits, .bytes: return samples
        case .bits: return product(width / 8 + (width % 8 == 0 ? 0 : 1), height)
        case .words: return product(samples, 2)
        }
    }
}

/// Reads the headers of PNM (P1 to P6) and PAM (P7), by netpbm's manual pages.
enum PNMHeader {
    /// - Parameter isCancelled: called between batches of bytes.
    static func read(_ reader: ByteReader, isCancelled: () -> Bool) throws(ImageError) -> PictureHeader {
        var tokens = Tokens(reader)
        let (format, samples, width, height): (ImageFormat, PNMSamples, Int, Int)
        if reader.byte(1) == UInt8(ascii: "7") {
            (samples, width, height) = try pam(&tokens, isCancelled)
            format = .pam
        } else {
            (format, samples, width, height) = try pnm(reader.byte(1) ?? 0, &tokens, isCancelled)
        }
        guard width > 0, height > 0 else {
            throw .corrupt("the \(format.title) has \(width) x \(height) pixels")
        }
        let due = samples.leastBytes(width: width, height: height)
        var header = PictureHeader(
            info: ImageInfo(format: format, width: width, height: height, orientation: 1),
            truncation: reader.count - tokens.offset < due
                ? "the \(format.title) ends at byte \(reader.count), within its pixels" : nil)
        header.pixels = tokens.offset
        header.samples = samples
        return header
    }

    private static func pnm(
        _ digit: UInt8, _ tokens: inout Tokens, _ isCancelled: () -> Bool
    ) throws(ImageError) -> (ImageFormat, PNMSamples, Int, Int) {
        let kind = Int(digit) - 0x30, isText = kind <= 3
        let format: ImageFormat = [.pbm, .pgm, .ppm][(kind - 1) % 3]
        let width = try tokens.number("width", format, isCancelled)
        let height = try tokens.number("height", format, isCancelled)
        guard format != .pbm else {
            let samples = PNMSamples(coding: isText ? .digits : .bits, channels: 1, maximum: 1, isInverted: true)
            return (format, samples, width, height)
        }
        let maximum = try checked(try tokens.number("maximum", format, isCancelled), format)
        let coding: PNMSamples.Coding = isText ? .text : maximum > 255 ? .words : .bytes
        return (format, PNMSamples(coding: coding, channels: format == .ppm ? 3 : 1, maximum: maximum), width, height)
    }

    private static func checked(_ maximum: Int, _ format: ImageFormat) throws(ImageError) -> Int {
        guard (1...65_535).contains(maximum) else {
            throw .corrupt("the \(format.title) has a greatest sample of \(maximum), expected 1 to 65535")
        }
        return maximum
    }

    // MARK: PAM

    /// The tuple types, with the samples of each.
    private static let types = [
        "BLACKANDWHITE": 1, "GRAYSCALE": 1, "RGB": 3, "BLACKANDWHITE_ALPHA": 2, "GRAYSCALE_ALPHA": 2, "RGB_ALPHA": 4,
    ]

    private static func pam(
        _ tokens: inout Tokens, _ isCancelled: () -> Bool
    ) throws(ImageError) -> (PNMSamples, Int, Int) {
        var fields: [String: Int] = [:]
        var type: String?
        while true {
            let line = try tokens.line(isCancelled)
            guard let name = line.first else { continue }
            let value = line.dropFirst().first
            switch name {
            case "ENDHDR":
                return try pam(fields, type: type)
            case "WIDTH", "HEIGHT", "DEPTH", "MAXVAL":
                guard fields[name] == nil else { throw .corrupt("the PAM has \(name) twice") }
                guard let value, line.count == 2, let number = Tokens.number(value) else {
                    throw .corrupt("the PAM has \(name) \"\((value ?? "").prefix(20))\", expected a whole number")
                }
                fields[name] = number
            case "TUPLTYPE":
                guard type == nil, line.count <= 2 else { throw .corrupt("the PAM has several tuple types") }
                type = value
            default: throw .corrupt("the PAM has an unknown line \"\(name.prefix(20))\" in its header")
            }
        }
    }

    private static func pam(_ fields: [String: Int], type: String?) throws(ImageError) -> (PNMSamples, Int, Int) {
        func field(_ name: String) throws(ImageError) -> Int {
            guard let value = fields[name] else { throw .corrupt("the PAM has no \(name)") }
            return value
        }
        let (width, height, depth) = (try field("WIDTH"), try field("HEIGHT"), try field("DEPTH"))
        let maximum = try checked(try field("MAXVAL"), .pam)
        guard (1...4).contains(depth) else { throw .corrupt("the PAM has \(depth) samples a pixel, expected 1 to 4") }
        if let type {
            guard let samples = types[type] else {
                throw .corrupt(
                    "the PAM has the tuple type \"\(type.prefix(40))\", expected \(types.keys.sorted().joined(separator: ", "))"
                )
            }
            guard samples == depth else {
                throw .corrupt("the PAM has \(depth) samples a pixel, expected \(samples) for \(type)")
            }
        }
        return (PNMSamples(coding: maximum > 255 ? .words : .bytes, channels: depth, maximum: maximum), width, height)
    }

    // MARK: Text

    /// Reads the numbers and lines of a header, after its first two bytes.
    struct Tokens {
        private let reader: ByteReader
        /// The offset of the next byte.
        private(set) var offset = 2
        private var batch = PictureHeader.batchOfBytes

        init(_ reader: ByteReader) { self.reader = reader }

        static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

        private mutating func next(_ isCancelled: () -> Bool) throws(ImageError) -> UInt8 {
            if offset >= batch {
                batch += PictureHeader.batchOfBytes
                if isCancelled() { throw .cancelled }
            }
            guard let byte = reader.byte(offset) else {
                throw .truncated("the picture ends at byte \(reader.count), in its header")
            }
            offset += 1
            return byte
        }

        /// Skips the rest of a comment, and its line feed.
        private mutating func skipComment(_ isCancelled: () -> Bool) throws(ImageError) {
            var byte = UInt8(ascii: "#")
            while byte != 0x0A, byte != 0x0D { byte = try next(isCancelled) }
        }

        /// The next number of a PNM header, with the one byte of white space after it. Comments may be before it.
        mutating func number(
            _ name: String, _ format: ImageFormat, _ isCancelled: () -> Bool
        ) throws(ImageError) -> Int {
            var byte = try next(isCancelled)
            while Self.isSpace(byte) || byte == UInt8(ascii: "#") {
                if byte == UInt8(ascii: "#") { try skipComment(isCancelled) }
                byte = try next(isCancelled)
            }
            var value: Int?
            while (0x30...0x39).contains(byte) {
                value = Self.appended(byte, to: value ?? 0)
                byte = try next(isCancelled)
            }
            // A comment may end the number; its line feed is then the white space.
            if byte == UInt8(ascii: "#") {
                try skipComment(isCancelled)
            } else if !Self.isSpace(byte) {
                value = nil
            }
            guard let value else {
                throw .corrupt("the \(format.title)'s \(name), before byte \(offset), is no whole number")
            }
            return value
        }

        /// The words of the next line of a PAM header; none for a comment.
        mutating func line(_ isCancelled: () -> Bool) throws(ImageError) -> [String] {
            var words: [String] = [], word = "", length = 0
            while true {
                let byte = try next(isCancelled)
                if byte == UInt8(ascii: "#"), length == 0 {
                    try skipComment(isCancelled)
                    return []
                }
                if Self.isSpace(byte) {
                    if !word.isEmpty { words.append(word) }
                    word = ""
                    if byte == 0x0A { return words }
                } else {
                    word.unicodeScalars.append(Unicode.Scalar(byte))
                }
                length += 1
                guard length <= Self.longestLine else {
                    throw .corrupt("the PAM has a line of more than \(Self.longestLine) bytes in its header")
                }
            }
        }

        private static let longestLine = 255

        /// Greater numbers stay so great that no limit allows them, and that their products are checked.
        private static func appended(_ digit: UInt8, to value: Int) -> Int {
            min(value * 10 + Int(digit) - 0x30, 1 << 40)
        }

        /// The number in a text that has only digits; nil for other text.
        static func number(_ text: String) -> Int? {
            guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return text.utf8.reduce(0) { appended($1, to: $0) }
        }
    }
}
