import ImagePipeline
import Testing

/// Against Pillow: what was expected was made by scripts/make-image-goldens.
@Suite struct GoldenTests {
    @Test func thereAreCases() {
        #expect(GoldenCase.all.count >= 150)
        #expect(GoldenCase.resampled.count >= 80)
        #expect((GoldenCase.all + GoldenCase.resampled).allSatisfy { $0.expected.count == $0.spec.byteCount })
    }

    @Test(arguments: GoldenCase.all + GoldenCase.resampled)
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
}
