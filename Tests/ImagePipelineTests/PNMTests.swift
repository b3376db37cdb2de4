import ImagePipeline
import TestSupport
import Testing

/// Headers of PNM and PAM; the pixels are compared with Pillow's in GoldenTests.
@Suite struct PNMTests {
    private var pipeline: ImagePipeline { get throws { try ImagePipeline(spec: ImageTensorSpec(width: 2, height: 1)) } }

    private func pam(_ lines: String) -> [UInt8] { Array("P7\n\(lines)ENDHDR\n".utf8) }

    @Test(
        "each kind, with any white space and comments in its header, is read",
        arguments: [
            ("P1 2 1 1 0", ImageFormat.pbm, [0, 255]), ("P1\n2 1\n10", .pbm, [0, 255]),
            ("P1#c\n2#d\n1 #e\n1#f\n0", .pbm, [0, 255]),
            ("P2 2 1 10 0 10", .pgm, [0, 255]), ("P2\r\n2\t1\r\n3\n1 2", .pgm, [85, 170]),
            ("P2 2 1 65535 65535 32768", .pgm, [255, 128]),
            ("P3 2 1 255 1 1 1 9 9 9", .ppm, [1, 9]), ("P4 2 1 \u{40}", .pbm, [255, 0]),
            ("P5 2 1 255 #\n", .pgm, [35, 10]),
            // The comment ends the number, and its line feed is the white space before the samples.
            ("P5 2 1 255# a\n#a", .pgm, [35, 97]), ("P5 2 1 7 \u{0}\u{7}", .pgm, [0, 255]),
            ("P5 2 1 256 \u{0}\u{0}\u{1}\u{0}", .pgm, [0, 255]), ("P6 2 1 255 aaabbb", .ppm, [97, 98]),
        ])
    func kinds(_ text: String, _ format: ImageFormat, _ grays: [UInt8]) throws {
        let bytes = Array(text.utf8)
        #expect(try ImagePipeline.probe(bytes) == ImageInfo(format: format, width: 2, height: 1, orientation: 1))
        #expect(try pipeline.tensor(bytes) == grays.flatMap { [$0, $0, $0] })
    }

    @Test("a PAM's lines come in any order, with comments, with or without its tuple type")
    func pamLines() throws {
        for lines in [
            "WIDTH 2\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nTUPLTYPE GRAYSCALE\n",
            "# a comment\n\nMAXVAL 255\nDEPTH 1\nHEIGHT 1\n#another\nWIDTH 2\n",
            "WIDTH\t2 \nHEIGHT 1\nDEPTH 1\nMAXVAL 255\r\n",
        ] {
            #expect(try pipeline.tensor(pam(lines) + [7, 8]) == [7, 7, 7, 8, 8, 8])
        }
    }

    @Test(
        "headers that cannot be are refused with the reason",
        arguments: [
            ("P6 0 5 255 ", "0 x 5 pixels"), ("P6 1 1 65536 abcabc", "65536, expected 1 to 65535"),
            ("P5 1 1 0 a", "of 0, expected"),
            ("P5 -1 1 255 a", "width, before byte 4, is no whole number"), ("P5 1 x 255 a", "height"),
            ("P5 1 1 255a", "maximum"),
            ("P2 1 1 255 x", "byte 11 is no digit, in row 0"), ("P1 2 1 12", "a sample of 2, the greatest is 1"),
            ("P2 1 1 9 10", "a sample of 10, the greatest is 9"), ("P5 1 1 9 a", "a sample of 97, the greatest is 9"),
            ("P2 1 1 9 99999999999999999999999999", "the greatest is 9"),
            ("P7\nENDHDR\n", "no WIDTH"), ("P7\nWIDTH 1\nWIDTH 1\n", "WIDTH twice"), ("P7\nWIDTH\n", "WIDTH \"\""),
            ("P7\nWIDTH 1 2\n", "WIDTH"), ("P7\nSIZE 1\n", "unknown line \"SIZE\""), ("P7\nWIDTH -1\n", "WIDTH \"-1\""),
            ("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 5\nMAXVAL 255\nENDHDR\nabcde", "5 samples a pixel, expected 1 to 4"),
            (
                "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\na",
                "1 samples a pixel, expected 3 for RGB"
            ),
            (
                "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nTUPLTYPE CMYK\nENDHDR\na",
                "\"CMYK\", expected BLACKANDWHITE"
            ),
            ("P7\nTUPLTYPE RGB\nTUPLTYPE RGB\n", "several tuple types"),
            ("P7\n\(String(repeating: "X", count: 300))\n", "more than 255 bytes"),
        ])
    func refused(_ text: String, _ reason: String) {
        let error = #expect(throws: ImageError.self) { try pipeline.tensor(Array(text.utf8)) }
        #expect(error?.label == "corrupt" && error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test(
        "sizes beyond the limits are refused for their size",
        arguments: [
            "P6 100000 100000 255 x", "P5 99999999999999999999999999999 1 255 x", "P1 4294967297 4294967297 1",
            "P7\nWIDTH 18446744073709551617\nHEIGHT 1\nDEPTH 4\nMAXVAL 65535\nENDHDR\n", "P4 70000 1 x",
        ])
    func tooLarge(_ text: String) throws {
        let bytes = Array(text.utf8)
        let error = #expect(throws: ImageError.self) { try pipeline.tensor(bytes) }
        #expect(error?.label == "too_large", "\(error?.message ?? "")")
        #expect(try bytes.withUnsafeBytes { try pipeline.demand($0) } == .none)
    }

    @Test("a file that ends early is refused, also within its header; if that is tolerated, the rest is black")
    func truncated() throws {
        for (text, end) in [
            ("P5 2 1 255 a", "within its pixels"), ("P6 2 2 255 aaabbb", "within its pixels"),
            ("P4 9 1 a", "within its pixels"),
            ("P2 2 1 255 7 ", "within its pixels"), ("P3 1 1 255 1 2 ", "within its pixels"),
            ("P5 2 1 65535 abc", "within its pixels"),
            ("P5 2", "in its header"), ("P5 2 1 255", "in its header"), ("P5 2 1 #", "in its header"),
            ("P7\nWIDTH 2", "in its header"),
        ] {
            let error = #expect(throws: ImageError.self) { try pipeline.tensor(Array(text.utf8)) }
            #expect(error?.label == "truncated" && error?.message.contains(end) == true, "\(text)")
        }
        let tolerant = try ImagePipeline(
            spec: ImageTensorSpec(width: 2, height: 1), limits: ImageLimits(tolerateTruncation: true))
        #expect(try tolerant.tensor(Array("P5 2 1 255 a".utf8)) == [97, 97, 97, 0, 0, 0])
        #expect(try tolerant.tensor(Array("P2 2 1 255 97 ".utf8)) == [97, 97, 97, 0, 0, 0])
        #expect(try tolerant.tensor(Array("P6 2 1 255 aab".utf8)) == [97, 97, 98, 0, 0, 0])
    }

    @Test("text that begins like a PNM is none")
    func otherText() {
        for text in ["P", "P5", "P8 1 1", "P0 1 1", "PP 1", "P7 332\n#XVVERSION", "P5x"] {
            #expect(Array(text.utf8).withUnsafeBytes { ImagePipeline.format(of: $0) } == nil, "\(text)")
        }
    }

    /// The time of the estimate is limited, and unread headers count as the largest picture.
    @Test("a header of a megabyte of comments is read, and reading it stops when it is cancelled")
    func longHeader() throws {
        let comment = Array("#".utf8) + [UInt8](repeating: 0x78, count: 1 << 20) + [0x0A]
        let bytes = Array("P5 2 1 ".utf8) + comment + Array("255 ab".utf8)
        #expect(try pipeline.tensor(bytes) == [97, 97, 97, 98, 98, 98])
        #expect(throws: ImageError.cancelled) { try pipeline.tensor(bytes) { true } }
        #expect(try bytes.withUnsafeBytes { try pipeline.demand($0) }.memory >= 64_000_000)
    }

    @Test("skipping rows of text stops when it is cancelled")
    func cancellation() throws {
        var polls = 0
        let text = "P2 9 900 1 " + String(repeating: "1 ", count: 8_100)
        var spec = ImageTensorSpec(width: 9, height: 9)
        spec.keepsSize = true
        #expect(throws: ImageError.cancelled) {
            try ImagePipeline(spec: spec).tensor(Array(text.utf8)) {
                polls += 1
                return polls == 5
            }
        }
        #expect(polls == 5)
    }

    @Test(
        "shared pictures have the expected pixels, or are refused",
        .enabled(if: Seeds.areAvailable, Comment(rawValue: SharedData.absence)), arguments: Seeds.pnm)
    func seeds(_ seed: Seeds.Case) throws {
        let bytes = try Seeds.bytes(#require(seed.file))
        guard let file = seed.expected else {
            let error = #expect(throws: ImageError.self) { try pipeline.tensor(bytes) }
            let labels = seed.error == "image_too_large" ? ["too_large"] : ["corrupt", "truncated"]
            #expect(labels.contains(error?.label ?? ""))
            return
        }
        let expected = try Seeds.pixels(file)
        let spec = ImageTensorSpec(width: expected.info.width, height: expected.info.height)
        let found = try ImagePipeline(spec: spec).tensor(bytes), levels = try expected.flattened(over: .white)
        let largest = zip(found, levels).map { abs(Int($0) - Int($1)) }.max()
        #expect(found.count == levels.count && (largest ?? .max) <= (seed.tolerance ?? 0))
    }
}
