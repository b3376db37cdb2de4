import ImagePipeline
import Testing

/// Compares tensors with Pillow's: Tests/FixtureMakers/make-image-goldens made the expected ones.
@Suite struct GoldenTests {
    @Test("there are at least 150 reference tensors and 80 resampled ones, each of its specified size")
    func goldens_allCases_areThereAndWhole() {
        #expect(GoldenCase.all.count >= 150)
        #expect(GoldenCase.resampled.count >= 80)
        #expect((GoldenCase.all + GoldenCase.resampled).allSatisfy { $0.expected.count == $0.spec.byteCount })
    }

    @Test(
        "a tensor differs from Pillow's by at most the mean and maximum its case allows",
        arguments: GoldenCase.all + GoldenCase.resampled)
    func theTensorIsPillows(_ golden: GoldenCase) throws {
        let pipeline = try ImagePipeline(spec: golden.spec)
        let tensor = try pipeline.tensor(Fixtures.bytes(golden.file), options: golden.options)
        var sum = 0
        var largest = 0
        for (got, expected) in zip(tensor, golden.expected) {
            let difference = abs(Int(got) - Int(expected))
            sum += difference
            largest = max(largest, difference)
        }
        let mean = Double(sum) / Double(tensor.count)
        #expect(mean <= golden.mean && largest <= golden.maximum, "mean \(mean), largest \(largest)")
    }

    /// Noise contains all combinations of neighbouring levels, so a weight with a wrong last bit changes a few of its
    /// pixels.
    @Test(
        "noise resized with bicubic or Lanczos equals Pillow's result bit for bit",
        arguments: [(Resampler.bicubic, 0x66ac_9989_79a5_008e as UInt64), (.lanczos, 0x2713_7726_3232_b6ff)])
    func noiseIsPillowsToTheLastBit(_ resampler: Resampler, _ expected: UInt64) throws {
        var state: UInt32 = 12_345
        let pixels = (0..<640 * 480 * 3).map { _ in
            state = state &* 1_664_525 &+ 1_013_904_223
            return UInt8(state >> 24)
        }
        let file = try pixels.withUnsafeBytes {
            try PNGEncoder.encode(width: 640, height: 480, channels: 3, pixels: $0)
        }
        let pipeline = try ImagePipeline(
            spec: ImageTensorSpec(width: 160, height: 96, cropAndScale: .scaleFill, resampler: resampler))
        // FNV-1a of the bytes of `image.resize((160, 96), filter)`.
        let sum = try pipeline.tensor(file).reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        #expect(sum == expected)
    }
}
