import ConfinedDecoding
import Foundation
import ImagePipeline
import TestSupport
import Testing

/// AVIF pictures made by Tests/FixtureMakers/make-avif-pictures.
@Suite struct AVIFPicturesTests {
    private static let decoder = Probe.decoder()

    private static func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](
            try Data(contentsOf: SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/pictures/\(name)")))
    }

    private static func isDecoded() throws -> Bool {
        guard let reason = try decoder.reasonAgainst(.avif) else { return true }
        print("skipped: \(reason)")
        return false
    }

    @Test(
        "a monochrome AVIF of limited range has the levels that Pillow reads, also if only the coded picture declares it",
        arguments: ["gray-limited", "gray-limited-10"])
    func limitedRangeIsExpanded(_ name: String) throws {
        guard try Self.isDecoded() else { return }
        let pixels = try Self.decoder.pixels(Self.bytes(name + ".avif"), format: .avif)
        let png = try Self.bytes(name + ".png")
        let expected = try ImagePipeline.pixels(64, 48) { pipeline, pixels in
            try png.withUnsafeBytes { try pipeline.prepare($0, into: pixels) }
        }
        #expect(expected.min() == 0 && expected.max() == 255)
        #expect(try #require(zip(pixels, expected).map { abs(Int($0) - Int($1)) }.max()) <= 1)
    }

    /// libheif needs 30 bytes for each of its pixels.
    @Test("an AVIF of 10 bits with 6 million pixels is decoded in the memory that is taken for it")
    func deepPictureHasItsMemory() throws {
        guard try Self.isDecoded() else { return }
        let bytes = try Self.bytes("deep-large.avif")
        let picture = try bytes.withUnsafeBytes { try Self.decoder.open($0, format: .avif) { false } }
        #expect(picture.memory > 6_000_000 * (4 + 30))
        #expect(try picture.decode { false }.info.height == 2000)
    }
}
