import Observations
import TestSupport
import Testing

/// Finds the vectors of patches in outputs; the expected places are written out.
@Suite struct PatchReaderTests {
    private func finding(
        _ shape: [Int], _ stated: PatchPlaces? = nil, channels: ChannelPlace? = nil
    ) throws -> PatchReader.Finding {
        try EmbeddingDecoder(EmbeddingDecoding(channels: channels, patches: stated), shape: shape).patches
    }

    /// The vectors of a tensor; each element is its own index.
    private func vectors(
        _ shape: [Int], _ stated: PatchPlaces? = nil, channels: ChannelPlace? = nil
    ) throws -> (grid: [Int], values: [Float]) {
        guard case .patches(let reader) = try finding(shape, stated, channels: channels) else { return ([], []) }
        let numbers = (0..<shape.reduce(1, *)).map { Float($0) }
        let values = try numbers.withUnsafeBufferPointer {
            try reader.vectors(try #require(OutputTensor(shape: shape, values: $0)))
        }
        return ([reader.rows, reader.columns, reader.width], values)
    }

    @Test("tokens are patches if they are a square, or all but the first one are")
    func squaresOfTokens() throws {
        let all = try vectors([1, 4, 2])
        #expect(all.grid == [2, 2, 2] && all.values == [0, 1, 2, 3, 4, 5, 6, 7])
        let rest = try vectors([1, 5, 2])
        #expect(rest.grid == [2, 2, 2] && rest.values == [2, 3, 4, 5, 6, 7, 8, 9])
        for (tokens, side) in [(257, 16), (256, 16), (197, 14), (1_370, 37)] {
            #expect(try vectors([1, tokens, 3]).grid == [side, side, 3])
        }
        for tokens in [3, 6, 261, 12] {
            guard case .unclear(tokens) = try finding([1, tokens, 2]) else {
                Issue.record("\(tokens) tokens")
                continue
            }
        }
    }

    @Test("stated tokens are skipped, and stated rows make a grid")
    func statedPlaces() throws {
        let skipped = try vectors([1, 9, 1], PatchPlaces(skip: 5))
        #expect(skipped.grid == [2, 2, 1] && skipped.values == [5, 6, 7, 8])
        let grid = try vectors([1, 7, 1], PatchPlaces(skip: 1, rows: 2))
        #expect(grid.grid == [2, 3, 1] && grid.values == [1, 2, 3, 4, 5, 6])
        // The numbers of a vector on the second axis.
        let first = try vectors([1, 2, 5], PatchPlaces(skip: 1), channels: .first)
        #expect(first.grid == [2, 2, 2] && first.values == [1, 6, 2, 7, 3, 8, 4, 9])
    }

    @Test("a map is its own grid")
    func maps() throws {
        let first = try vectors([1, 2, 2, 3])
        #expect(first.grid == [2, 3, 2] && first.values == [0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11])
        let last = try vectors([1, 2, 3, 2], channels: .last)
        #expect(last.grid == [2, 3, 2] && last.values == (0..<12).map { Float($0) })
    }

    @Test("one vector has no patches, whatever axes it has")
    func singleVectors() throws {
        for shape in [[1, 384], [384], [1, 1, 384], [1, 384, 1, 1]] {
            guard case .single = try finding(shape) else {
                Issue.record("\(shape)")
                continue
            }
        }
    }

    @Test("statements that do not fit the tensor are refused with what was expected")
    func wrongStatements() {
        for (shape, stated) in [
            ([1, 384], PatchPlaces(skip: 1)), ([1, 5, 2], PatchPlaces(skip: 5)), ([1, 5, 2], PatchPlaces(skip: 2)),
            ([1, 7, 2], PatchPlaces(skip: 1, rows: 4)), ([1, 2, 2, 3], PatchPlaces(skip: 1)),
            ([1, 2, 2, 3], PatchPlaces(rows: 3)),
        ] {
            let error = #expect(throws: ObservationError.self) { try finding(shape, stated) }
            #expect(error?.message.contains("\"patches\"") == true, "\(shape) \(stated)")
        }
    }
}
