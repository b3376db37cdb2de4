import Foundation
import ImagePipeline
import TestSupport
import Testing

@Suite struct HeaderTests {
    @Test(
        "probing reads format, size and orientation from the header",
        arguments: [
            ("scene-420.jpg", ImageInfo(format: .jpeg, width: 150, height: 113, orientation: 1)),
            ("orientation-6.jpg", ImageInfo(format: .jpeg, width: 41, height: 60, orientation: 6)),
            ("tall.png", ImageInfo(format: .png, width: 41, height: 97, orientation: 1)),
            ("orientation-6.webp", ImageInfo(format: .webp, width: 41, height: 60, orientation: 6)),
            ("scene-lossy.webp", ImageInfo(format: .webp, width: 90, height: 70, orientation: 1)),
            ("animated-part.webp", ImageInfo(format: .webp, width: 90, height: 70, orientation: 1)),
        ])
    func probeReadsTheHeader(_ file: String, _ info: ImageInfo) throws {
        #expect(try ImagePipeline.probe(Fixtures.bytes(file)) == info)
    }

    @Test(
        "content in an unsupported format is refused with the name of the likely format",
        arguments: [
            ("BM6.......", "text"), ("%PDF-1.7", "PDF"), ("  <!DOCTYPE HTML>", "HTML"),
            ("<svg xmlns=", "SVG"),
            ("....ftypisom", "an MP4 or QuickTime file"),
            ("II*\0....CR", "a camera raw file"), ("....ftypcrx ", "a Canon raw file"), ("{\"image\": 1}", "JSON"),
            ("/9j/4AAQSkZJRg", "a JPEG as base64 text: send its bytes"),
            ("RIFF....AVI ", "a RIFF file that is not WebP"),
            ("....mdat", "an MP4 or QuickTime file"),
            ("<body>", "HTML"), ("{\\rtf1", "an RTF document"), ("no picture", "text"),
            ("UklGRiQAAABXRUJQ", "a WebP as base64 text: send its bytes"),
            ("data:;base64,", "a data: URL: send the picture's bytes"),
            ("photos/Cat.JPG", "a file name: send the file itself (with curl, put @ before the name)"),
            ("@cat.png", "a file name: send the file itself (with curl, put @ before the name)"),
            ("b'\\x89PNG\\r\\n", "a Python bytes literal: send the bytes themselves"),
            ("\u{FFFD}PNG\r\n", "binary data that was converted to text: send the bytes unchanged"),
            ("https://example.com/cat.jpg", "a URL: send the picture's bytes"),
        ])
    func whatIsNotDecodedIsNamed(_ start: String, _ name: String) {
        #expect(throws: ImageError.unsupportedFormat(looksLike: name)) { try ImagePipeline.probe(Array(start.utf8)) }
        #expect(ImageError.unsupportedFormat(looksLike: name).message.contains(name))
    }

    @Test(
        "GIF, HEIC, AVIF, TIFF, JPEG XL and BMP are recognized but not decoded in this process",
        arguments: [
            ("GIF89a....", ImageFormat.gif), ("GIF87a", .gif), ("....ftypheic", .heic), ("....ftypavif", .avif),
            ("\0\0\0\u{1C}ftypmif1....mif1avif", .avif), ("\0\0\0\u{1C}ftypmif1....mif1heic", .heic),
            ("\0\0\0\u{14}ftypmif1....mif1avif", .heic), ("II*\0....", .tiff), ("MM\0*....", .tiff),
            ("II+\0....", .tiff),
            ("\0\0\0\u{0C}JXL \r\n", .jxl), ("BM............\u{28}\0\0\0", .bmp),
        ])
    func formatsOfSeparateProcessesAreKnownAndNotDecodedHere(_ start: String, _ format: ImageFormat) throws {
        let bytes = Array(start.utf8)
        #expect(bytes.withUnsafeBytes { ImagePipeline.format(of: $0) } == format)
        #expect(throws: ImageError.unavailable(format, reason: "it is decoded in a separate process")) {
            try ImagePipeline.probe(bytes)
        }
    }

    /// An item may have another coding than the brand states. A disabled format stays disabled.
    @Test("a HEIF file with an item coded in a format that is turned off is refused")
    func itemsOfAFormatThatIsTurnedOffAreRefused() throws {
        func item(_ type: String, version: UInt8) -> [UInt8] {
            Array("infe".utf8) + [version, 0, 0, 0] + (version == 2 ? [0, 1] : [0, 0, 0, 1]) + [0, 0] + Array(type.utf8)
        }
        let brand = Array("\0\0\0\u{10}ftypheic".utf8)
        let cases: [(bytes: [UInt8], formats: Set<ImageFormat>, off: ImageFormat?)] = [
            (brand + item("hvc1", version: 2), [.heic], nil), (brand + item("av01", version: 2), [.heic, .avif], nil),
            (brand + item("av01", version: 2), [.heic, .jpeg], .avif),
            (brand + item("hvc1", version: 2) + item("grid", version: 2) + item("av01", version: 3), [.heic], .avif),
            (brand + item("jpeg", version: 3), [.heic, .avif], .jpeg),
            (Array("\0\0\0\u{10}ftypavif".utf8) + item("hvc1", version: 2), [.avif, .jpeg], .heic),
            (brand + item("hvc1", version: 2), [.avif, .jpeg], .heic), (brand + Array("infe".utf8), [.heic], nil),
        ]
        for (index, (bytes, formats, off)) in cases.enumerated() {
            var limits = ImageLimits()
            limits.formats = formats
            let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 1, height: 1), limits: limits)
            let found = bytes.withUnsafeBytes { bytes -> ImageError? in
                do throws(ImageError) {
                    if let format = ImagePipeline.format(of: bytes) { try pipeline.check(format, bytes) }
                    return nil
                } catch {
                    return error
                }
            }
            #expect(found == off.map { .turnedOff($0) }, "\(index)")
        }
    }

    @Test("empty input and bytes of no known format are refused")
    func nothingAndNoiseAreRefused() {
        #expect(throws: ImageError.empty) { try ImagePipeline.probe([]) }
        #expect(throws: ImageError.unsupportedFormat(looksLike: nil)) { try ImagePipeline.probe([1, 2, 3]) }
    }

    /// A JPEG that consists only of a header, with one EXIF segment.
    private func jpeg(exif: [UInt8]) -> [UInt8] {
        let segment = Array("Exif\0\0".utf8) + exif
        let frame: [UInt8] = [0xFF, 0xC0, 0, 11, 8, 0, 2, 0, 3, 1, 1, 0x11, 0]
        return [0xFF, 0xD8, 0xFF, 0xE1, 0, UInt8(segment.count + 2)] + segment + frame + [0xFF, 0xDA, 0, 2]
    }

    private func tiff(tag: UInt16 = 0x0112, type: UInt16 = 3, count: UInt32 = 1, value: UInt16) -> [UInt8] {
        func little(_ number: UInt64, _ bytes: Int) -> [UInt8] { (0..<bytes).map { UInt8(number >> ($0 * 8) & 255) } }
        return [0x49, 0x49, 42, 0] + little(8, 4) + little(1, 2) + little(UInt64(tag), 2) + little(UInt64(type), 2)
            + little(UInt64(count), 4) + little(UInt64(value), 4) + little(0, 4)
    }

    /// As in Pillow: data that continues in a second segment is joined, and the first of two directories counts.
    @Test("of two EXIF segments in a JPEG the first gives the orientation")
    func ofTwoSegmentsTheFirstCounts() throws {
        for (first, second) in [(UInt16(6), UInt16(3)), (3, 6), (8, 1)] {
            let one = jpeg(exif: tiff(value: first))
            let segment = Array("Exif\0\0".utf8) + tiff(value: second)
            let end = 4 + Int(one[4]) << 8 + Int(one[5])
            let both = one[..<end] + [0xFF, 0xE1, 0, UInt8(segment.count + 2)] + segment + one[end...]
            #expect(try ImagePipeline.probe(Array(both)).orientation == Int(first))
        }
    }

    /// The limits are checked against the first one, and libjpeg would use the second.
    @Test("a JPEG with two frame headers is refused")
    func twoFrameHeadersAreRefused() throws {
        let one = jpeg(exif: tiff(value: 1))
        let frame: [UInt8] = [0xFF, 0xC0, 0, 11, 8, 0x40, 0, 0x40, 0, 1, 1, 0x11, 0]
        let scan = one.count - 4
        #expect(throws: ImageError.corrupt("the JPEG has two frame headers")) {
            try ImagePipeline.probe(Array(one[..<scan] + frame + one[scan...]))
        }
    }

    @Test("EXIF orientations 1 to 8 are read, and an invalid or out-of-bounds entry counts as 1")
    func orientationIsReadWithBoundsChecks() throws {
        for value in UInt16(1)...8 {
            #expect(try ImagePipeline.probe(jpeg(exif: tiff(value: value))).orientation == Int(value))
        }
        for value: UInt16 in [0, 9, 65535] {
            #expect(try ImagePipeline.probe(jpeg(exif: tiff(value: value))).orientation == 1)
        }
        for type: UInt16 in [1, 3, 4, 8, 9] {
            #expect(try ImagePipeline.probe(jpeg(exif: tiff(type: type, value: 6))).orientation == 6)
        }
        // If there are several values, the first counts: in the entry, and outside it if they do not fit (at byte 26:
        // 6, 0, 0).
        #expect(try ImagePipeline.probe(jpeg(exif: tiff(count: 2, value: 6))).orientation == 6)
        #expect(try ImagePipeline.probe(jpeg(exif: tiff(count: 3, value: 26) + [6, 0, 0, 0, 0, 0])).orientation == 6)
        for (count, value) in [(UInt32(0), UInt16(6)), (3, 6), (3, 65535), (.max, 26)] {
            #expect(try ImagePipeline.probe(jpeg(exif: tiff(count: count, value: value))).orientation == 1)
        }
        #expect(try ImagePipeline.probe(jpeg(exif: tiff(type: 7, value: 6))).orientation == 1)
        let whole = tiff(value: 6)
        for length in 0..<whole.count {
            #expect(try [1, 6].contains(ImagePipeline.probe(jpeg(exif: Array(whole.prefix(length)))).orientation))
        }
        var far = whole
        far[4...7] = [0xF0, 0xFF, 0xFF, 0xFF]
        #expect(try ImagePipeline.probe(jpeg(exif: far)).orientation == 1)
    }

    @Test("the Python package lists the same picture file endings as the server")
    func thePythonPackageHasTheSameEndings() throws {
        let file = SharedData.packageRoot.appendingPathComponent("clients/python/src/ocelli/stores.py")
        let line = try #require(
            try String(contentsOf: file, encoding: .utf8).split(separator: "\n").first { $0.hasPrefix("ENDINGS") })
        let endings = line.split(separator: "\"").filter { $0.hasPrefix(".") }.map(String.init)
        #expect(Set(endings) == Set(ImageFormat.allEndings))
    }
}
