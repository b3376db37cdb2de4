import Observations
import Testing

/// The pooling of token vectors, and confidences of cosines; expected values by numpy.
@Suite struct TextPoolingTests {
    private static let vectors: [Float] = [1, -2, 0.5, 3, 4, -1, -2, 0.25, 8, 100, 100, 100]
    private static let mask = [true, true, true, false]

    private func isNear(_ found: [Float], _ expected: [Float]) -> Bool {
        found.count == expected.count && zip(found, expected).allSatisfy { abs($0 - $1) < 1e-5 }
    }

    @Test(
        "each pooling leaves out the padding",
        arguments: [
            (.cls, [1, -2, 0.5]), (.max, [3, 4, 8]), (.mean, [0.6666667, 0.75, 2.5]),
            (.meanSqrtLength, [1.1547005, 1.2990381, 4.3301270]), (.weightedMean, [0.1666667, 1.125, 3.75]),
            (.lastToken, [-2, 0.25, 8]),
        ] as [(TextPooling, [Float])])
    func poolings(_ pooling: TextPooling, _ expected: [Float]) {
        let found = Self.vectors.withUnsafeBufferPointer { pooling.pool($0, width: 3, mask: Self.mask) }
        #expect(isNear(found, expected), "\(pooling): \(found)")
    }

    @Test("padding before a text is left out, too: the first token is the first that counts")
    func paddingBefore() {
        let mask = [false, true, true, false]
        func pool(_ pooling: TextPooling) -> [Float] {
            Self.vectors.withUnsafeBufferPointer { pooling.pool($0, width: 3, mask: mask) }
        }
        #expect(pool(.cls) == [3, 4, -1])
        #expect(pool(.lastToken) == [-2, 0.25, 8])
    }

    @Test("confidences are the softmax of scaled cosines, or the sigmoid of each with its bias")
    func confidences() {
        let cosines: [Float] = [0.3, 0.1, -0.2]
        let softmax = SimilarityScoring(scale: 20).confidences(cosines)
        #expect(isNear(softmax, [0.9819700, 0.0179854, 0.0000446]), "\(softmax)")
        let sigmoid = SimilarityScoring(scale: 30, bias: -4, activation: .sigmoid).confidences(cosines)
        #expect(isNear(sigmoid, [0.9933071, 0.2689414, 0.0000454]), "\(sigmoid)")
    }

    @Test("the mean of several prompts is that of unit vectors, brought to length 1")
    func mean() {
        let mean = EmbeddingClasses.mean([[3, 4, 0], [0, 0, 2]])
        #expect(isNear(mean, [0.4242641, 0.5656854, 0.7071068]), "\(mean)")
    }
}
