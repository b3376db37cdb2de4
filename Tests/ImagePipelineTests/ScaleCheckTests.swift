import ImagePipeline
import Testing

/// A JPEG is decoded at a reduced size only if the difference is hardly visible. (GoldenTests compare the results with
/// Pillow's.)
@Suite struct ScaleCheckTests {
    private static let spec = ImageTensorSpec(width: 32, height: 32)

    private func decoding(
        _ file: String, _ spec: ImageTensorSpec = Self.spec, options: ImageDecodeOptions = ImageDecodeOptions()
    ) throws -> [String: PreprocessingValue] {
        let pipeline = try ImagePipeline(spec: spec)
        let report = try Fixtures.bytes(file).withUnsafeBytes { try pipeline.explain($0, options: options) }
        return try #require(report.steps.first { $0.operation == "decode" }).parameters
    }

    @Test(
        "a JPEG with fine patterns of saturated colours is decoded in full, and explain says why",
        arguments: [2, 3, 8])
    func finePatternsOfSaturatedColoursAreDecodedInFull(_ cell: Int) throws {
        let parameters = try decoding("large-checkers-\(cell).jpg")
        #expect(parameters["scale"] == "8/8")
        guard case .text(let reason) = parameters["in_full_because"] else {
            Issue.record("no reason: \(parameters)")
            return
        }
        #expect(reason.hasPrefix("decoded smaller, its colours would be off by "), "\(reason)")
    }

    /// Smooth colours, gray, and pictures that cannot be measured without decoding all of them.
    @Test(
        "a smooth, gray or progressive JPEG is decoded at a reduced scale",
        arguments: [
            ("size-4000x3000.jpg", "1/8"), ("large-checkers-gray.jpg", "2/8"), ("large-progressive.jpg", "2/8"),
        ])
    func picturesWithoutVisibleDifferenceAreDecodedSmaller(_ file: String, _ scale: String) throws {
        let parameters = try decoding(file)
        #expect(parameters["scale"] == .text(scale) && parameters["in_full_because"] == nil, "\(parameters)")
    }

    @Test("with a small decode margin, even a JPEG of fine patterns is decoded at 1/8 size")
    func whoAsksForASmallMarginHasChosenSpeed() throws {
        var spec = Self.spec
        spec.decodeMargin = 1.2
        #expect(try decoding("large-checkers-8.jpg", spec)["scale"] == "1/8")
    }

    @Test("with fullDecode, explain reports the full scale and no reason for it")
    func whatIsDecodedInFullAnywayIsNotTried() throws {
        let parameters = try decoding("large-checkers-8.jpg", options: ImageDecodeOptions(fullDecode: true))
        #expect(parameters["scale"] == "8/8" && parameters["in_full_because"] == nil)
    }

    /// The header is then read once instead of three times.
    @Test("a JPEG with 270,000 empty comments is decoded at reduced size without a check of its colours")
    func aHeaderOfHundredsOfThousandsOfSegmentsIsNotTried() throws {
        let picture = try Fixtures.bytes("large-checkers-8.jpg")
        let pipeline = try ImagePipeline(spec: Self.spec)
        for (comments, scale) in [(1_000, "8/8"), (270_000, "2/8")] {
            let emptyComment: [UInt8] = [0xFF, 0xFE, 0, 2]
            let long = picture[..<2] + (0..<comments).flatMap { _ in emptyComment } + picture[2...]
            let report = try Array(long).withUnsafeBytes { try pipeline.explain($0) }
            #expect(report.steps.first?.parameters["scale"] == .text(scale), "\(comments) comments")
        }
    }

    /// The check finds the damage first, but the reported error is that of decoding the picture.
    @Test("a truncated JPEG gives the same error with and without fullDecode")
    func aDamagedPictureIsReportedAsBefore() throws {
        let picture = try Fixtures.bytes("large-checkers-8.jpg")
        let pipeline = try ImagePipeline(spec: Self.spec)
        for count in [1_000, picture.count / 2] {
            var messages: [String] = []
            for full in [false, true] {
                do {
                    _ = try pipeline.tensor(Array(picture.prefix(count)), options: ImageDecodeOptions(fullDecode: full))
                } catch {
                    messages.append("\(error)")
                }
            }
            #expect(messages.count == 2 && messages.first == messages.last, "\(messages)")
        }
    }
}
