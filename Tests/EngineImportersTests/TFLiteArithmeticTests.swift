import EngineImporters
import Testing

@Suite struct TFLiteArithmeticTests {
    private static func arithmetic(_ build: (inout TinyTFLite) -> [Int]) throws -> TFLiteArithmetic {
        var tiny = TinyTFLite()
        tiny.main.inputs = [tiny.main.tensor(name: "x")]
        tiny.main.outputs = build(&tiny)
        return try TFLiteArithmetic(try tiny.bytes())
    }

    @Test("floats with weights of floats are floats")
    func floats() throws {
        #expect(try Self.arithmetic { [$0.chain(.convolution, [0, $0.constant()])] } == .floats)
    }

    @Test("results with a scale are integers", arguments: [TinyTFLite.Kind.int8, .uint8, .int16])
    func integers(kind: TinyTFLite.Kind) throws {
        let found = try Self.arithmetic { tiny in
            let input = tiny.main.tensor(kind, scale: 0.5)
            tiny.main.inputs = [input]
            return [tiny.chain(.add, [input, input], kind, scale: 0.5)]
        }
        #expect(found == .integers)
        // Bytes without a scale are pictures or indices.
        let plain = try Self.arithmetic { [$0.chain(.cast, [0], kind)] }
        #expect(plain == [])
    }

    @Test("floats with constant integer weights are of dynamic range")
    func dynamicRange() throws {
        let found = try Self.arithmetic { tiny in
            [tiny.chain(.fullyConnected, [0, tiny.constant(.int8, [4, 1], [1, 2, 3, 4], scale: 0.5)])]
        }
        #expect(found == .dynamicRange)
    }

    @Test("weights that are converted to floats once are floats")
    func dequantizedWeights() throws {
        let found = try Self.arithmetic { tiny in
            let weights = tiny.chain(.dequantize, [tiny.constant(.int8, [4], [1, 2, 3, 4], scale: 0.5)])
            return [tiny.chain(.convolution, [0, weights])]
        }
        #expect(found == .floats)
    }

    @Test("a file with several kinds has all of them")
    func mixed() throws {
        let found = try Self.arithmetic { tiny in
            [tiny.chain(.dequantize, [tiny.chain(.quantize, [0], .int8, scale: 0.5)])]
        }
        #expect(found == [.floats, .integers])
    }
}
