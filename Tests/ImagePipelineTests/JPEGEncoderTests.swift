import ImagePipeline
import TestSupport
import Testing

/// Tests of writing JPEG files.
@Suite struct JPEGEncoderTests {
    /// libjpeg writes to buffers of growing size. The last one must be freed exactly once, wherever the encoding stops.
    @Test("an encoding of a JPEG stopped at any check throws cancelled, and the next encoding is correct")
    func encodingThatIsStopped_freesWhatItWrote() throws {
        let (width, height) = (200, 1_024)
        var random = SplitMix(seed: 34)
        let noise = (0..<width * height * 3).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        func encode(_ isCancelled: () -> Bool) throws -> [UInt8] {
            try noise.withUnsafeBytes { pixels in
                try JPEGEncoder.encode(width: width, height: height, pixels: pixels, isCancelled: isCancelled)
            }
        }
        let whole = try encode { false }
        #expect(whole.count > 100_000 && whole.starts(with: [0xFF, 0xD8]) && whole.suffix(2) == [0xFF, 0xD9])
        // The encoder polls every 64 rows.
        for stop in 0..<16 {
            for _ in 0..<4 {
                var asked = 0
                let error = #expect(throws: ImageError.self) {
                    try encode {
                        asked += 1
                        return asked > stop
                    }
                }
                #expect(error == .cancelled && asked == stop + 1)
            }
            #expect(try encode { false } == whole)
        }
    }
}
