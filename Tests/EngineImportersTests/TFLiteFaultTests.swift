import EngineAPI
import EngineImporters
import FileFormats
import Testing

/// The operators that OpenVINO is known to compute wrongly, of which Tests/Operators has the numbers.
@Suite struct TFLiteFaultTests {
    private static func fault(_ build: (inout TinyTFLite) -> [Int]) throws -> EngineFault? {
        var tiny = TinyTFLite()
        tiny.main.inputs = [tiny.main.tensor(name: "x"), tiny.main.tensor(.int32, [4], name: "shape")]
        tiny.main.outputs = build(&tiny)
        return TFLiteFault.first(in: try tiny.bytes())
    }

    @Test("a fused activation of TRANSPOSE_CONV is found; LiteRT drops TANH, too")
    func transposeConvolution() throws {
        let clauses = [nil, "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT"]
        for (activation, name) in clauses.enumerated() {
            let found = try Self.fault { tiny in
                let shape = tiny.constant(.int32, [4]), weights = tiny.constant()
                return [
                    tiny.chain(
                        .transposeConvolution, [shape, weights, 0],
                        options: (49, [0: .number(UInt8(1)), 3: .number(UInt8(activation))]))
                ]
            }
            #expect(found?.clause == name.map { "drops the fused \($0) of TRANSPOSE_CONV" })
            #expect((found?.isShared ?? false) == (activation > 3))
        }
    }

    @Test("half_pixel_centers of RESIZE_NEAREST_NEIGHBOR is found", arguments: [false, true])
    func resizeNearest(isHalf: Bool) throws {
        let found = try Self.fault { tiny in
            [tiny.chain(.resizeNearest, [0, 1], options: (74, [1: .number(UInt8(isHalf ? 1 : 0))]))]
        }
        #expect((found != nil) == isHalf)
    }

    @Test("TILE is found where its repetitions are no constants", arguments: [false, true])
    func tile(isConstant: Bool) throws {
        let found = try Self.fault { tiny in [tiny.chain(.tile, [0, isConstant ? tiny.constant(.int32, [2]) : 1])] }
        #expect((found == nil) == isConstant)
    }

    @Test("a fault that LiteRT shares comes first, and other operators and damaged files have none")
    func theOthers() throws {
        let both = try Self.fault { tiny in
            let tiled = tiny.chain(.tile, [0, 1]), shape = tiny.constant(.int32, [4]), weights = tiny.constant()
            return [
                tiny.chain(.transposeConvolution, [shape, weights, tiled], options: (49, [3: .number(UInt8(4))]))
            ]
        }
        #expect(both?.isShared == true)
        #expect(try Self.fault { [$0.chain(.add, [0, 0])] } == nil)
        #expect(TFLiteFault.first(in: []) == nil && TFLiteFault.first(in: [UInt8](repeating: 255, count: 64)) == nil)
    }
}
