import EngineImporters
import FileFormats
import TestSupport
import Testing

/// The reasons for which LiteRT's answers prove nothing; each was seen with LiteRT 2.3.
@Suite struct LiteRTBlindSpotTests {
    /// The reasons in a model with the input 0, named "x". `build` returns the outputs.
    private static func reasons(_ build: (inout TinyTFLite) -> [Int]) throws -> [LiteRTBlindSpot] {
        var tiny = TinyTFLite()
        tiny.main.inputs = [tiny.main.tensor(name: "x")]
        tiny.main.outputs = build(&tiny)
        return try LiteRTBlindSpot.all(in: try tiny.bytes())
    }

    /// The type of the table of options, and the field of the fused activation: schema.fbs.
    static let activationTables: [(TinyTFLite.Code, UInt8, Int)] = [
        (.convolution, 1, 3), (.averagePool, 5, 5), (.fullyConnected, 8, 0), (.add, 11, 0), (.mul, 21, 0),
    ]

    @Test("fused activations that LiteRT does not apply are found", arguments: activationTables)
    func activationsAreFound(code: TinyTFLite.Code, type: UInt8, field: Int) throws {
        // NONE, RELU, RELU_N1_TO_1, RELU6, TANH, SIGN_BIT, and one that does not exist.
        let names = [nil, nil, nil, nil, "TANH", "SIGN_BIT", "activation 6"]
        let words: [TinyTFLite.Code: String] = [
            .convolution: "CONV_2D", .averagePool: "AVERAGE_POOL_2D", .fullyConnected: "FULLY_CONNECTED", .add: "ADD",
            .mul: "MUL",
        ]
        for (activation, name) in names.enumerated() {
            let found = try Self.reasons { tiny in
                [tiny.chain(code, [0, 0], options: (type, [field: .number(UInt8(activation))]))]
            }
            let expected = name.map { "its operator \(words[code] ?? "") has a fused \($0), which LiteRT ignores" }
            #expect(found.map(\.reason) == (expected.map { [$0] } ?? []))
            #expect(found.allSatisfy { $0.operatorIndex == 0 && !$0.isForValuesOutOfRange })
        }
    }

    @Test("the activation of a recurrent cell is its own")
    func cellsApplyTheirActivation() throws {
        let found = try Self.reasons { [$0.chain(.lstm, [0], options: (71, [0: .number(UInt8(4))]))] }
        #expect(found.isEmpty)
    }

    @Test("random operators, and operators with state, are found in all subgraphs")
    func randomAndStatefulOperatorsAreFound() throws {
        let random = ["RANDOM_STANDARD_NORMAL", "RANDOM_UNIFORM", "MULTINOMIAL"]
        for (code, name) in zip([TinyTFLite.Code.randomNormal, .randomUniform, .multinomial], random) {
            let found = try Self.reasons { tiny in
                let shape = tiny.constant(.int32)
                return [tiny.chain(.add, [0, tiny.chain(code, [shape, shape])])]
            }
            #expect(found.map(\.reason) == ["its operator \(name) has random results"])
        }
        let stateful = ["CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"]
        for (code, name) in zip([TinyTFLite.Code.callOnce, .varHandle, .readVariable, .assignVariable], stateful) {
            let found = try Self.reasons { tiny in
                var body = TinyTFLite.Subgraph()
                let value = body.tensor()
                body.operators = [tiny.node(code, [value], [body.tensor()])]
                tiny.others = [body]
                return [tiny.chain(.add, [0, 0])]
            }
            #expect(found.map(\.reason) == ["its operator \(name) keeps values from one run to the next"])
            #expect(found.map(\.operatorIndex) == [nil], "of the main subgraph")
        }
    }

    @Test("an output that is listed twice, is an input, or is an overwritten input, is found")
    func portsAreFound() throws {
        let twice = try Self.reasons { tiny in
            let output = tiny.chain(.add, [0, 0], name: "y")
            return [output, output, output]
        }
        #expect(twice.map(\.reason) == ["its output \"y\" is listed twice"])
        let input = try Self.reasons { [$0.chain(.add, [0, 0]), 0] }
        #expect(input.map(\.reason) == ["its output \"x\" is one of its inputs"])
        let overwritten = try Self.reasons { tiny in
            let other = tiny.main.tensor()
            tiny.main.inputs = [0, other]
            tiny.add(.add, [0, 0], [other])
            return [tiny.chain(.add, [other, 0])]
        }
        #expect(overwritten.map(\.reason) == ["its operator ADD overwrites the input \"t1\""])
    }

    @Test("outputs with a computed shape are found, and those with a constant one are not")
    func computedShapesAreFound() throws {
        func reason(_ name: String) -> [String] {
            ["its operator \(name) computes the shape of output \"y\", which LiteRT does not write in the first run"]
        }
        let whole = try Self.reasons { [$0.chain(.where_, [0], name: "y")] }
        #expect(whole.map(\.reason) == reason("WHERE"))
        let unique = try Self.reasons { [$0.chain(.unique, [0], name: "y")] }
        #expect(unique.map(\.reason) == reason("UNIQUE"))
        let reshaped = try Self.reasons { tiny in
            let shape = tiny.chain(.shape, [0], .int32)
            return [tiny.chain(.reshape, [0, shape], name: "y")]
        }
        #expect(reshaped.map(\.reason) == reason("RESHAPE") && reshaped.map(\.operatorIndex) == [1])
        let given = try Self.reasons { [$0.chain(.reshape, [0, 0], name: "y")] }
        #expect(given.map(\.reason) == reason("RESHAPE"))
        // The limit of the range is computed.
        let range = try Self.reasons { tiny in
            let zero = tiny.constant(.int32, [])
            return [tiny.chain(.range, [zero, tiny.chain(.shape, [0], .int32), zero], name: "y")]
        }
        #expect(range.map(\.reason) == reason("RANGE"))
        let constant = try Self.reasons { tiny in
            let shape = tiny.constant(.int32)
            return [tiny.chain(.reshape, [0, shape]), tiny.chain(.range, [shape, shape, shape])]
        }
        #expect(constant.isEmpty)
        // No output, so LiteRT writes it.
        let inner = try Self.reasons { tiny in
            let shape = tiny.chain(.shape, [0], .int32)
            return [tiny.chain(.add, [tiny.chain(.reshape, [0, shape]), 0])]
        }
        #expect(inner.isEmpty)
    }

    @Test("only conversions of floats to integers are found, as a problem of values out of range")
    func castsAreFound() throws {
        for kind in [TinyTFLite.Kind.int32, .uint8, .int64, .int8, .int16] {
            let found = try Self.reasons { [$0.chain(.cast, [0], kind)] }
            #expect(found.map(\.isForValuesOutOfRange) == [true] && found.map(\.operatorIndex) == [0], "\(kind)")
        }
        for kind in [TinyTFLite.Kind.float, .bool] {
            #expect(try Self.reasons { [$0.chain(.cast, [0], kind)] }.isEmpty, "\(kind)")
        }
        let integers = try Self.reasons { [$0.chain(.cast, [$0.constant(.int32)], .uint8)] }
        #expect(integers.isEmpty)
    }
}
