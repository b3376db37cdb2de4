import Inference
import TestSupport
import Testing

@Suite struct TopKTests {
    private func top(_ scores: [Float], _ count: Int, _ threshold: Float = 0) -> [Int]? {
        scores.withUnsafeBufferPointer { TopK.select($0, count: count, threshold: threshold)?.map(\.index) }
    }

    @Test("the best scores come first, and equal scores in the order of their indices")
    func theBestComeFirstAndEqualsByIndex() {
        #expect(top([0.1, 0.5, 0.4, 0.5], 3) == [1, 3, 2])
        #expect(top([0.2, 0.2, 0.2], 2) == [0, 1])
        #expect(top([0.1, 0.2], 5) == [1, 0])
        #expect(top([], 5) == [])
        #expect(top([1], 0) == [])
    }

    @Test("only scores of at least the threshold are selected")
    func theThresholdCounts() {
        #expect(top([0.1, 0.5, 0.4], 3, 0.4) == [1, 2])
        #expect(top([0.1], 3, 1) == [])
        // Large counts are selected by another algorithm.
        #expect(top([0.1, 0.5, 0.4], 300, 0.4) == [1, 2] && top([0.1, 0.2], 300, 1) == [])
    }

    @Test("nothing is selected from scores with a NaN, for any threshold and count", arguments: [1, 3, 300])
    func notANumberIsNotAScore(_ count: Int) {
        for threshold in [-Float.infinity, 0, 1] {
            for place in 0..<3 {
                var scores: [Float] = [0.1, 0.5, 0.4]
                scores[place] = .nan
                #expect(top(scores, count, threshold) == nil)
            }
            #expect(top([.nan], count, threshold) == nil)
        }
    }

    @Test("infinite scores are first and last", arguments: [3, 300])
    func infiniteScoresAreOrdered(_ count: Int) {
        #expect(top([0.5, -.infinity, .infinity], count, -.infinity) == [2, 0, 1])
        #expect(top([0.5, -.infinity, .infinity], count, 0.1) == [2, 0])
    }

    @Test("the selection from random scores equals a full sort")
    func equalsASort() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix(seed: seed)
        for _ in 0..<500 {
            let scores = (0..<Int.random(in: 0...60, using: &generator)).map { _ in
                Float(Int.random(in: 0...20, using: &generator)) / 20
            }
            // Small and large counts are selected by two algorithms.
            let count = Int.random(in: 1...10, using: &generator) * (Bool.random(using: &generator) ? 1 : 65)
            let expected = scores.indices.sorted { (scores[$1], $0) < (scores[$0], $1) }.prefix(count)
            #expect(top(scores, count) == Array(expected), "seed \(seed)")
        }
    }
}
