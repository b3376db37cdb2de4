import CoreMLImport
import Testing

/// Weights in coremltools' compressed forms, of a few elements.
@Suite struct CompressedWeightsTests {
    private func tensor(_ element: MILDataType, _ shape: [Int], _ bytes: [UInt8]) throws -> BlobTensor {
        try BlobTensor(element, shape: shape, bytes: Bytes(bytes))
    }

    private func floats(_ values: [Float], _ shape: [Int]? = nil) throws -> BlobTensor {
        try BlobTensor(.float32, shape: shape ?? [values.count], bytes: Bytes(of: values))
    }

    @Test("weights of 2, 3, 4 and 6 bits are unpacked, and missing bytes are refused")
    func elementsBelowAByte() throws {
        // The first element is in the lowest bits.
        #expect(try tensor(.uint2, [4], [0b11_10_01_00]).codes() == [0, 1, 2, 3])
        #expect(try tensor(.int4, [3], [0xF7, 0x08]).integers() == [7, -1, -8])
        #expect(try tensor(.uint3, [3], [0b01_010_001, 0b1]).codes() == [1, 2, 5])
        #expect(try tensor(.uint6, [2], [0b01_000011, 0b1111]).codes() == [3, 61])
        // Elements may also take a byte each.
        #expect(try tensor(.int4, [3], [7, 255, 248]).integers() == [7, -1, -8])
        #expect(throws: Problem.self) { _ = try tensor(.int4, [3], [7]) }
        #expect(throws: Problem.self) { _ = try tensor(.float32, [2], [0, 0, 0, 0]) }
    }

    @Test("weights are dequantized with scale and zero point along an axis")
    func scalesAlongAnAxis() throws {
        let data = try tensor(.int8, [2, 2], [1, 2, 3, 255])
        func affine(_ scale: [Float], _ zero: [UInt8]?, _ axis: Int) throws -> [Float] {
            let zeroPoint = try zero.map { try tensor(.uint8, [$0.count], $0) }
            return try CompressedWeights.affine(data, scale: floats(scale), zeroPoint: zeroPoint, axis: axis).floats()
        }
        #expect(try affine([2, 3], nil, 0) == [2, 4, 9, -3])
        #expect(try affine([2, 3], nil, 1) == [2, 6, 6, -3])
        #expect(try affine([2, 3], nil, -1) == [2, 6, 6, -3])
        #expect(try affine([2], [1], 0) == [0, 2, 4, -4])
        #expect(try affine([2], [1, 2], 0) == [0, 2, 2, -6])
        #expect(try affine([2, 3], [1], 0) == [0, 2, 6, -6])
        #expect(throws: Problem.self) { _ = try affine([2, 3, 4], nil, 0) }
    }

    @Test("weights are dequantized with a scale and an offset for each block")
    func blocksOfScales() throws {
        let data = try tensor(.uint8, [2, 4], [1, 2, 3, 4, 5, 6, 7, 8])
        let scale = try floats([1, 10, 100, 1_000], [2, 2]), offset = try floats([1, 2, 3, 4], [2, 2])
        #expect(
            try CompressedWeights.blockwise(data, scale: scale, offset: offset).floats()
                == [0, 1, 10, 20, 200, 300, 3_000, 4_000])
        #expect(throws: Problem.self) {
            _ = try CompressedWeights.blockwise(data, scale: floats([1, 2, 3], [1, 3]), offset: nil)
        }
        #expect(throws: Problem.self) {
            _ = try CompressedWeights.blockwise(data, scale: scale, offset: floats([1], [1, 1]))
        }
    }

    @Test("weights are looked up in tables of numbers, rows and vectors")
    func lookupTables() throws {
        let indices = try tensor(.uint8, [1], [0b11_10_01_00])
        let table = try floats([10, 11, 12, 13])
        func palette(_ limit: Int) throws -> BlobTensor {
            try CompressedWeights.palette(packed: indices, table: table, shape: [2, 2], limit: limit)
        }
        #expect(try palette(16).floats() == [10, 11, 12, 13])
        #expect(try palette(16).shape == [2, 2])
        #expect(throws: Problem.self) { _ = try palette(15) }
        #expect(throws: Problem.self) {
            _ = try CompressedWeights.palette(packed: indices, table: floats([1, 2, 3]), shape: [4], limit: 99)
        }
        // A table for each row, and entries of two vertically adjacent numbers.
        let codes = try tensor(.uint8, [2, 2], [0, 1, 1, 0])
        let rows = try floats([1, 2, 3, 4], [2, 1, 2, 1])
        #expect(
            try CompressedWeights.palette(codes, table: rows, vectorAxis: nil, limit: 99).floats() == [1, 2, 4, 3])
        let vectors = try floats([1, 2, 3, 4], [1, 1, 2, 2])
        let below = try CompressedWeights.palette(codes, table: vectors, vectorAxis: 0, limit: 99)
        #expect(try below.shape == [4, 2] && below.floats() == [1, 3, 2, 4, 3, 1, 4, 2])
        #expect(throws: Problem.self) {
            _ = try CompressedWeights.palette(
                tensor(.uint8, [1], [2]), table: floats([1, 2], [1, 2, 1]), vectorAxis: nil, limit: 99)
        }
    }

    @Test("sparse weights are expanded by their mask and packed again")
    func masks() throws {
        let mask = try tensor(.uint1, [4], [0b1010])
        let dense = try CompressedWeights.dense(floats([5, 6]), mask: mask, limit: 16)
        #expect(try dense.floats() == [0, 5, 0, 6])
        #expect(try CompressedWeights.sparse(dense, mask: mask).floats() == [5, 6])
        #expect(throws: Problem.self) { _ = try CompressedWeights.dense(floats([5]), mask: mask, limit: 16) }
        #expect(throws: Problem.self) { _ = try CompressedWeights.dense(floats([5, 6]), mask: mask, limit: 15) }
        let twice = try CompressedWeights.repeated(
            tensor(.uint1, [2, 2], [0b0110]), along: 0, count: 2, limit: 99)
        #expect(try twice.shape == [4, 2] && twice.codes() == [0, 1, 0, 1, 1, 0, 1, 0])
    }
}
