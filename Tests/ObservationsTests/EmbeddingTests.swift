import Observations
import Testing

/// Embeddings from tensors with a vector for each token or cell, compared with sums computed by hand.
@Suite struct EmbeddingTests {
    private static func embedding(_ decoding: EmbeddingDecoding, _ shape: [Int], _ values: [Float]) throws -> [Float] {
        let decoder = try EmbeddingDecoder(decoding, shape: shape)
        return try values.withUnsafeBufferPointer { buffer in
            let tensor = try #require(OutputTensor(shape: shape, values: buffer))
            let found = try decoder.embedding(tensor)
            #expect(found.count == decoder.dimension)
            return found
        }
    }

    /// Three tokens of two numbers; a map of two numbers on two rows of two; the map with channels last.
    @Test("the pooled vector of tokens and of maps is the first one or the mean, for any order of the axes")
    func pooling() throws {
        let tokens: [Float] = [1, 2, 3, 4, 8, 0], map: [Float] = [1, 2, 3, 6, 10, 20, 30, 0]
        for (pooling, channels, shape, values, expected) in [
            (.cls, nil, [1, 3, 2], tokens, [1, 2]), (.mean, nil, [1, 3, 2], tokens, [4, 2]),
            (.cls, .first, [1, 3, 2], tokens, [1, 3, 8]), (.mean, .first, [1, 3, 2], tokens, [1.5, 3.5, 4]),
            (.mean, nil, [1, 2, 2, 2], map, [3, 15]), (.mean, .last, [1, 2, 2, 2], map, [11, 7]),
            (EmbeddingPooling.none, nil, [1, 3, 2], tokens, tokens), (nil, nil, [1, 2, 2, 2], map, map),
            (.mean, nil, [1, 4, 1, 1], [1, 2, 3, 4], [1, 2, 3, 4]), (nil, nil, [1, 4], [1, 2, 3, 4], [1, 2, 3, 4]),
        ] as [(EmbeddingPooling?, ChannelPlace?, [Int], [Float], [Float])] {
            let decoding = EmbeddingDecoding(.none, pooling: pooling, channels: channels)
            #expect(try Self.embedding(decoding, shape, values) == expected, "\(decoding) of \(shape)")
        }
        let unit = try Self.embedding(EmbeddingDecoding(pooling: .cls), [1, 2, 2], [3, 4, 9, 9])
        #expect(unit == [0.6, 0.8])
    }

    @Test(
        "a tensor without the axes that a pooling needs is refused",
        arguments: [
            (EmbeddingPooling.cls, [1, 8]), (.mean, [1, 8]), (.cls, [1, 8, 2, 2]), (.mean, [2, 3, 4]), (.cls, [3, 4]),
            (.mean, [1, 2, 2, 2, 2]), (.mean, [1, 0, 4]), (.none, [1, 1 << 25]),
        ])
    func otherShapes(_ pooling: EmbeddingPooling, _ shape: [Int]) {
        #expect(throws: ObservationError.self) {
            try EmbeddingDecoder(EmbeddingDecoding(pooling: pooling), shape: shape)
        }
    }

    @Test("several vectors without a pooling, and more than 8,192 numbers, are warnings")
    func advice() throws {
        func advice(_ pooling: EmbeddingPooling?, _ shape: [Int]) throws -> String? {
            try EmbeddingDecoder(EmbeddingDecoding(pooling: pooling), shape: shape).advice("v")
        }
        for (pooling, shape) in [
            (nil, [1, 8_192]), (nil, [1, 512, 1, 1]), (nil, [1, 1, 1, 512]), (.cls, [1, 257, 384]),
            (.mean, [1, 2048, 7, 7]), (EmbeddingPooling.none, [1, 16, 512]),
        ] as [(EmbeddingPooling?, [Int])] {
            #expect(try advice(pooling, shape) == nil, "\(shape)")
        }
        let tokens = try #require(try advice(nil, [1, 257, 384]))
        #expect(tokens.contains("98688 numbers") && tokens.contains("\"pooling\" to \"cls\""), "\(tokens)")
        #expect(try advice(nil, [1, 4, 16])?.contains("\"pooling\"") == true)
        #expect(try advice(EmbeddingPooling.none, [1, 257, 384])?.contains("8192") == true)
        #expect(try advice(nil, [1, 8_193])?.contains("8193 numbers") == true)
    }
}
