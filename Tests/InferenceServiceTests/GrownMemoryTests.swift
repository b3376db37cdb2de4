import InferenceService
import Testing

/// The release of free memory while requests arrive.
@Suite struct GrownMemoryTests {
    private func decisions(_ mebibytes: [Int?]) -> [Bool] {
        var memory = GrownMemory()
        return mebibytes.map { memory.shouldRelease(resident: $0.map { $0 << 20 }) }
    }

    @Test("memory is released when it has grown by more than 16 MiB over its least, and then compared anew")
    func whenItHasGrown() {
        #expect(decisions([100, 116, 100, 117, 117, 133, 134]) == [false, false, false, true, false, false, true])
        // Memory that shrinks lowers the mark; unknown memory changes nothing.
        #expect(decisions([100, 60, nil, 77]) == [false, false, false, true])
        #expect(decisions([nil, nil, 500, 500, 510]).allSatisfy { !$0 })
    }
}
