import ImagePipeline
import Testing

@Suite struct LimitTests {
    private let spec = ImageTensorSpec(width: 16, height: 16)

    @Test(
        "a truncated picture is refused with the length at which its data end",
        arguments: Fixtures.names.filter { $0.hasPrefix("scene") || $0.hasPrefix("rgb-8") || $0.hasPrefix("animated") })
    func aTruncatedPictureIsRefusedWithWhereItEnds(_ file: String) throws {
        let picture = try Fixtures.bytes(file)
        let pipeline = try ImagePipeline(spec: spec)
        for part in 1..<64 {
            let length = picture.count * part / 64
            guard length > 16 else { continue }
            do {
                _ = try pipeline.tensor(Array(picture.prefix(length)))
                Issue.record("\(length) of \(picture.count) bytes gave a picture")
            } catch ImageError.truncated(let detail) {
                #expect(detail.contains("\(length)"), "\(detail)")
            }
        }
    }

    @Test(
        "with tolerateTruncation, a picture cut at three quarters keeps its first rows",
        arguments: ["scene-420.jpg", "scene-lossy.webp", "scene.png"])
    func truncationCanBeTolerated(_ file: String) throws {
        let picture = try Fixtures.bytes(file)
        let pipeline = try ImagePipeline(spec: spec, limits: ImageLimits(tolerateTruncation: true))
        let whole = try pipeline.tensor(picture)
        let part = try pipeline.tensor(Array(picture.prefix(picture.count * 3 / 4)))
        // The first rows are decoded.
        #expect(part[0..<48 * 4] == whole[0..<48 * 4])
    }

    /// The available passes give a coarser version of the picture, not another one.
    @Test("with tolerateTruncation, an interlaced PNG cut near its end keeps most of its pixels")
    func aTruncatedInterlacedPictureIsWhatItsPassesGive() throws {
        let picture = try Fixtures.bytes("rgb-8-interlaced.png")
        let pipeline = try ImagePipeline(spec: spec, limits: ImageLimits(tolerateTruncation: true))
        let whole = try pipeline.tensor(picture)
        let part = try pipeline.tensor(Array(picture.prefix(picture.count - 40)))
        #expect(part.count == whole.count)
        #expect(zip(part, whole).count { $0 == $1 } > whole.count / 2)
        #expect(try pipeline.tensor(Array(picture.prefix(60))) != whole)
    }

    @Test("a picture with too many pixels or too long a side is refused from its header")
    func pixelsAreLimitedByTheHeader() throws {
        let pipeline = try ImagePipeline(spec: spec, limits: ImageLimits(maxPixels: 150 * 113 - 1))
        for file in ["scene-420.jpg", "scene.png"] {
            #expect(
                throws: ImageError.tooLarge(pixels: 150 * 113, limit: 150 * 113 - 1, width: 150, height: 113)
            ) { try pipeline.tensor(Fixtures.bytes(file)) }
        }
        // Few pixels, but all in one row, which is longer than Ocelli and libjpeg accept.
        var long = try Fixtures.bytes("scene.png")
        long[16...23] = [0, 1, 0, 0, 0, 0, 0, 1]
        #expect(throws: ImageError.sideTooLong(limit: 65_535, width: 65_536, height: 1)) {
            try ImagePipeline(spec: spec).tensor(long)
        }
        long = try Fixtures.bytes("scene-gray.jpg")
        let frame = try #require(long.indices.dropLast().first { long[$0] == 0xFF && long[$0 + 1] == 0xC0 })
        long[frame + 5...frame + 8] = [0, 1, 0xFF, 0xFF]
        #expect(throws: ImageError.sideTooLong(limit: 65_500, width: 65_535, height: 1)) {
            try ImagePipeline(spec: spec).tensor(long)
        }
        // A header with the maximum of its fields.
        var bomb = try Fixtures.bytes("scene.png")
        bomb[16...23] = [0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF]
        #expect(throws: ImageError.self) { try ImagePipeline(spec: spec).tensor(bomb) }
    }

    @Test(
        "a picture that needs too much memory to decode is refused with the reason",
        arguments: [
            ("rgb-8-interlaced.png", "it is interlaced"), ("scene-progressive.jpg", "it has several scans"),
            ("scene-apart.jpg", "it has several scans"), ("scene-lossy.webp", "a WebP is decoded whole"),
        ])
    func memoryIsLimited(_ file: String, _ reason: String) throws {
        let pipeline = try ImagePipeline(spec: spec, limits: ImageLimits(maxBytes: 1000))
        let error = #expect(throws: ImageError.self) { try pipeline.tensor(Fixtures.bytes(file)) }
        #expect(error?.label == "too_much_memory" && error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test("a progressive JPEG with hundreds of scans is refused, even with tolerateTruncation")
    func scansAreLimited() throws {
        var picture = try Fixtures.bytes("scene-progressive.jpg")
        // Repeat the last scan a few hundred times.
        let starts = picture.indices.dropLast().filter { picture[$0] == 0xFF && picture[$0 + 1] == 0xDA }
        let last = try #require(starts.last)
        let scan = Array(picture[last..<picture.count - 2])
        picture.removeLast(2)
        for _ in 0..<300 { picture += scan }
        picture += [0xFF, 0xD9]
        let pipeline = try ImagePipeline(spec: spec, limits: ImageLimits(tolerateTruncation: true))
        #expect(throws: ImageError.tooManyScans(limit: 100)) { try pipeline.tensor(picture) }
    }

    /// If components have separate scans, two more scans of the last one are legal. Hundreds are an attack, however
    /// short they are.
    @Test("a sequential JPEG with hundreds of scans is refused before memory is taken")
    func scansOfASequentialPictureAreLimited() throws {
        let picture = try Fixtures.bytes("scene-apart.jpg")
        let last = try #require(picture.indices.dropLast().last { picture[$0] == 0xFF && picture[$0 + 1] == 0xDA })
        let scan = Array(picture[last..<picture.count - 2])
        let start = Array(picture[..<last])
        func repeated(_ count: Int) -> [UInt8] { start + (0..<count).flatMap { _ in scan } + [0xFF, 0xD9] }
        let pipeline = try ImagePipeline(spec: spec)
        #expect(try pipeline.tensor(repeated(2)) == pipeline.tensor(picture))
        #expect(throws: ImageError.tooManyScans(limit: 100)) { try pipeline.tensor(repeated(300)) }
        // Before any memory is reserved, or a row decoded.
        let small = try ImagePipeline(spec: spec, limits: ImageLimits(maxBytes: 1000))
        #expect(throws: ImageError.tooManyScans(limit: 100)) { try small.tensor(repeated(300)) }
        let strict = try ImagePipeline(spec: spec, limits: ImageLimits(maxPixels: 150 * 113))
        #expect(throws: ImageError.tooManyScans(limit: 20)) { try strict.tensor(repeated(19)) }
    }

    /// Data after the end marker (a video, another picture), or in a segment, is not a scan.
    @Test("scan markers in a comment or after the end of a JPEG do not count as scans")
    func onlyScansAreCounted() throws {
        let picture = try Fixtures.bytes("scene-progressive.jpg")
        let pipeline = try ImagePipeline(spec: spec)
        let whole = try pipeline.tensor(picture)
        let markers = (0..<300).flatMap { _ in [UInt8](arrayLiteral: 0xFF, 0xDA, 0, 8) }
        #expect(try pipeline.tensor(picture + markers) == whole)
        #expect(try pipeline.tensor(picture + [0, 2] + markers + markers + markers) == whole)
        let last = try #require(picture.indices.dropLast().last { picture[$0] == 0xFF && picture[$0 + 1] == 0xDA })
        let length = markers.count + 2
        let comment = [0xFF, 0xFE, UInt8(length >> 8), UInt8(length & 255)] + markers
        #expect(try pipeline.tensor(Array(picture[..<last]) + comment + Array(picture[last...])) == whole)
    }

    @Test("ten thousand unknown chunks before the pixels of a WebP do not change the tensor")
    func chunksBeforeThePixelsOfAWebPChangeNothing() throws {
        let picture = try Fixtures.bytes("scene-lossy.webp")
        let pixels = Array(picture[12...])
        let header = Array("VP8X".utf8) + [10, 0, 0, 0, 0, 0, 0, 0, 89, 0, 0, 69, 0, 0]
        let others = (0..<10_000).flatMap { _ in Array("none\0\0\0\0".utf8) }
        let length = 4 + header.count + others.count + pixels.count
        let size = (0..<4).map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) }
        let larger = Array("RIFF".utf8) + size + Array("WEBP".utf8) + header + others + pixels
        let pipeline = try ImagePipeline(spec: spec)
        #expect(try pipeline.tensor(larger) == pipeline.tensor(picture))
    }

    @Test("a damaged 4 MB colour profile in a PNG is skipped and does not change the tensor")
    func whatTheAncillaryChunksOfAPNGHoldIsNotRead() throws {
        let picture = try Fixtures.bytes("scene.png")
        // A profile that is not a deflate stream and claims to be 4 MB; its checksum is wrong too.
        var chunk: [UInt8] = [0, 0x40, 0, 0] + Array("iCCPname\0\0".utf8)
        chunk += [UInt8](repeating: 0xEE, count: (4 << 20) - 6 + 4)
        let larger = Array(picture[..<33]) + chunk + Array(picture[33...])
        let pipeline = try ImagePipeline(spec: spec)
        #expect(try pipeline.tensor(larger) == pipeline.tensor(picture))
    }

    @Test(
        "decoding stops at the check that reports cancellation, and the next picture is whole",
        arguments: [
            "large-420.jpg", "large-progressive.jpg", "rgb-8-interlaced.png", "scene.png", "scene-lossy.webp",
        ])
    func decodingStopsWhenItIsCancelled(_ file: String) throws {
        let picture = try Fixtures.bytes(file)
        let pipeline = try ImagePipeline(spec: spec)
        var total = 0
        let whole = try pipeline.tensor(
            picture,
            isCancelled: {
                total += 1
                return false
            })
        #expect(total > 1)
        for limit in [1, total / 2, total] {
            var asked = 0
            #expect(throws: ImageError.cancelled) {
                try pipeline.tensor(
                    picture,
                    isCancelled: {
                        asked += 1
                        return asked >= limit
                    })
            }
            #expect(asked == limit)
        }
        #expect(try pipeline.tensor(picture) == whole, "after a cancelled picture comes a whole one")
    }

    /// 20 MB can hold millions of empty segments or chunks.
    @Test(
        "reading a header with 20,000 empty segments or chunks stops when cancelled",
        arguments: ["scene-420.jpg", "scene.png", "scene-progressive.jpg"])
    func readingALongHeaderStopsWhenItIsCancelled(_ file: String) throws {
        let picture = try Fixtures.bytes(file)
        let isJPEG = file.hasSuffix(".jpg")
        let start = isJPEG ? 2 : 33
        let empty: [UInt8] = isJPEG ? [0xFF, 0xFE, 0, 2] : [0, 0, 0, 0] + Array("noNe".utf8) + [0, 0, 0, 0]
        let long = Array(picture[..<start]) + (0..<20_000).flatMap { _ in empty } + Array(picture[start...])
        // The limit of pixels is checked after the header was read.
        let pipeline = try ImagePipeline(spec: spec, limits: ImageLimits(maxPixels: 1))
        var asked = 0
        #expect(throws: ImageError.cancelled) {
            try pipeline.tensor(
                long,
                isCancelled: {
                    asked += 1
                    return asked == 4
                })
        }
        #expect(asked == 4)
    }

    /// The estimate is made before a request has a slot. 20 MB could be millions of segments, or one long gap.
    @Test("a header of more than 16,384 segments or chunks, or 256 KiB between segments, is estimated as the largest")
    func longHeadersAreNotReadForAnEstimate() throws {
        let pipeline = try ImagePipeline(spec: spec)
        let jpeg = try Fixtures.bytes("scene-420.jpg")
        func demand(_ bytes: [UInt8]) -> DecodeDemand { bytes.withUnsafeBytes { pipeline.demand($0) } }
        // After the first segment.
        let place = 4 + Int(jpeg[4]) << 8 + Int(jpeg[5])
        func padded(_ bytes: [UInt8]) -> [UInt8] { Array(jpeg[..<place]) + bytes + Array(jpeg[place...]) }
        let comment: [UInt8] = [0xFF, 0xFE, 0, 2], usual = demand(jpeg)
        #expect(usual.memory < 1 << 20 && usual.time > 0)
        #expect(demand(padded((0..<16_000).flatMap { _ in comment })) == usual)
        #expect(demand(padded([UInt8](repeating: 0, count: 190 << 10))) == usual)
        #expect(demand(Array(jpeg.dropLast(2))) == usual, "without an end marker")
        let whole = try pipeline.tensor(jpeg)
        for long in [
            padded((0..<17_000).flatMap { _ in comment }), padded([UInt8](repeating: 0, count: 257 << 10)),
            padded([UInt8](repeating: 0xFF, count: 257 << 10)),
        ] {
            let maximum = demand(long)
            #expect(maximum.memory == pipeline.limits.maxPixels * 6 && maximum.time > 100_000_000, "\(maximum)")
            #expect(try pipeline.tensor(long) == whole, "it is decoded as ever")
        }
        let header: [UInt8] = Array("RIFF".utf8) + [0, 0, 0, 4] + Array("WEBP".utf8)
        let chunks = header + (0..<17_000).flatMap { _ in Array("noNe".utf8) + [0, 0, 0, 0] }
        #expect(demand(chunks).memory == pipeline.limits.maxPixels * 8)
        #expect(demand(Array(chunks.prefix(1000))) == .none)
    }

    /// The crop is the middle quarter of 900 x 600 pixels: 187 rows are skipped, and 225 are read, 8 at a time.
    @Test("skipping the rows above a crop checks for cancellation too", arguments: [false, true])
    func passingOverRowsLooksAtTheCancellation(_ decodesAllPixels: Bool) throws {
        let picture = try Fixtures.bytes("large-420.jpg")
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 16, height: 4, decodeMargin: 100))
        var options = ImageDecodeOptions()
        options.decodesAllPixels = decodesAllPixels
        var asked = 0
        _ = try pipeline.tensor(
            picture, options: options,
            isCancelled: {
                asked += 1
                return false
            })
        #expect(asked >= 225 / 8 + (decodesAllPixels ? 187 / 8 : 1) + 1)
    }

    /// The crop is the middle 250 of 3000 rows, and the filter reaches 125 rows further: 1250 rows are skipped, and 500
    /// are read, 8 at a time.
    @Test("rows above a crop are skipped in few calls, each of no more pixels than 64 rows of the widest picture have")
    func rowsAreSkippedManyAtATime() throws {
        let picture = try Fixtures.bytes("size-4000x3000.jpg")
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 16, height: 1, decodeMargin: 1000))
        var asked = 0
        _ = try pipeline.tensor(
            picture,
            isCancelled: {
                asked += 1
                return false
            })
        #expect(asked == (500 + 7) / 8 + (1250 + 1023) / 1024)
    }

    @Test("concurrent tasks that share a pipeline each get the right tensor")
    func manyThreadsShareAPipeline() async throws {
        let pipeline = try ImagePipeline(spec: spec)
        let files = try ["large-420.jpg", "scene.png", "scene-lossy.webp", "scene-progressive.jpg"].map(Fixtures.bytes)
        let expected = try files.map { try pipeline.tensor($0) }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for round in 0..<80 {
                group.addTask { try pipeline.tensor(files[round % 4]) == expected[round % 4] }
            }
            for try await same in group { #expect(same) }
        }
    }
}
