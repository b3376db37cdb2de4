import EngineImporters
import FileFormats
import Foundation
import TestSupport
import Testing

/// Files cut into parts. That the parts compute what the whole file computes was measured with LiteRT:
/// Benchmarks/results/2026-11-29-litert-slices.md.
@Suite struct TFLiteSlicesTests {
    /// A model with the input 0; `build` returns the outputs.
    private static func model(_ build: (inout TinyTFLite) -> [Int]) throws -> [UInt8] {
        var tiny = TinyTFLite()
        tiny.main.inputs = [tiny.main.tensor(name: "x")]
        tiny.main.outputs = build(&tiny)
        return try tiny.bytes()
    }

    private static func refusal(_ file: [UInt8], length: Int = 1) -> String? {
        do throws(JudgingError) {
            _ = try TFLiteSlices(file, length: length)
            return nil
        } catch {
            return error.reason
        }
    }

    /// A model of `count` operators in a row.
    private static func row(_ count: Int) throws -> [UInt8] {
        try model { tiny in
            tiny.addSignature()
            var last = 0
            for _ in 0..<count { last = tiny.chain(.add, [last, last]) }
            return [last]
        }
    }

    @Test(
        "a row of operators is cut into parts of at most the given length",
        arguments: [(1, 20), (3, 7), (8, 3), (16, 2), (19, 2), (20, 1), (.max, 1), (0, 20)])
    func rowIsCut(length: Int, count: Int) throws {
        let file = try Self.row(20)
        let slices = try TFLiteSlices(file, length: length)
        #expect(slices.slices.count == count)
        #expect(slices.slices.flatMap(\.operators) == Array(0..<20))
        #expect(slices.inputs.map(\.tensor) == [0] && slices.outputs.map(\.tensor) == [20])
        for slice in slices.slices {
            let (first, last) = (slice.operators.first ?? 0, slice.operators.last ?? 0)
            #expect(slice.operators.count <= max(1, length))
            #expect(slice.names == slice.operators.map { _ in "ADD" })
            // Operator n takes tensor n and gives tensor n + 1.
            let read = try ReadTFLite(slice.bytes(of: file))
            #expect(read.inputs == [first] && read.outputs == [last + 1])
            #expect(slice.inputs.map(\.tensor) == read.inputs && slice.outputs.map(\.tensor) == read.outputs)
            #expect(slice.inputs.map(\.name) == [first == 0 ? "x" : "t\(first)"])
            #expect(read.operators.map(\.inputs) == slice.operators.map { [$0, $0] })
            #expect(read.operators.map(\.outputs) == slice.operators.map { [$0 + 1] })
            #expect(read.signatures == 0)
        }
    }

    @Test("the default length is sixteen operators for floats, and four for integers")
    func defaultLength() throws {
        #expect(try TFLiteSlices(try Self.row(20)).slices.map(\.operators.count) == [16, 4])
        let integers = try Self.model { tiny in
            var last = 0
            for _ in 0..<10 { last = tiny.chain(.add, [last, last], .int8, scale: 0.5) }
            return [last]
        }
        #expect(try TFLiteSlices(integers).slices.map(\.operators.count) == [4, 4, 2])
    }

    @Test("tensors that later parts use are outputs, in the order of their operators")
    func skippedTensorsAreOutputs() throws {
        let file = try Self.model { tiny in
            let a = tiny.chain(.add, [0, 0])
            let b = tiny.chain(.mul, [a, 0])
            let c = tiny.chain(.add, [b, b])
            // Takes the first operator's output, an optional input that is not given, and a constant.
            let d = tiny.chain(.fullyConnected, [a, tiny.constant(), -1])
            return [tiny.chain(.add, [c, d]), b]
        }
        let slices = try TFLiteSlices(file, length: 2).slices
        #expect(slices.map { $0.inputs.map(\.tensor) } == [[0], [2, 1], [3, 5]])
        #expect(slices.map { $0.outputs.map(\.tensor) } == [[1, 2], [3, 5], [6]])
        let read = try ReadTFLite(slices[1].bytes(of: file))
        #expect(read.operators.map(\.inputs) == [[2, 2], [1, 4, -1]])
    }

    @Test("results that nothing uses are no outputs, and a part without outputs is left out")
    func unusedResultsAreLeftOut() throws {
        let file = try Self.model { tiny in
            _ = tiny.chain(.mul, [0, 0])
            return [tiny.chain(.add, [0, 0])]
        }
        let slices = try TFLiteSlices(file, length: 1).slices
        #expect(slices.map(\.operators) == [[1]])
    }

    @Test("custom operators, suppressions, loops and conversions to integers stand alone")
    func someOperatorsStandAlone() throws {
        let kinds: [(TinyTFLite.Code, String)] = [
            (.suppression4, "NON_MAX_SUPPRESSION_V4"), (.while_, "WHILE"), (.cast, "CAST"),
            (.custom, "TFLite_Detection_PostProcess"),
        ]
        for (code, name) in kinds {
            let file = try Self.model { tiny in
                let a = tiny.chain(.add, [0, 0])
                let b = tiny.main.tensor(.int32)
                tiny.add(code, [a], [b], custom: code == .custom ? name : nil)
                return [tiny.chain(.mul, [b, b])]
            }
            let slices = try TFLiteSlices(file).slices
            #expect(slices.map(\.names) == [["ADD"], [name], ["MUL"]], "\(name)")
        }
        let integers = try Self.model { tiny in
            let a = tiny.chain(.add, [0, 0], .int32)
            return [tiny.chain(.cast, [a])]
        }
        #expect(try TFLiteSlices(integers).slices.count == 1, "CAST of integers to floats")
    }

    @Test("operators whose results can jump begin a part if their inputs are rounded in it")
    func jumpingOperatorsBegin() throws {
        let file = try Self.model { tiny in
            let a = tiny.chain(.add, [0, 0])
            let b = tiny.chain(.argMax, [a, tiny.constant(.int32)], .int32)
            return [tiny.chain(.add, [b, b], .int32), tiny.chain(.greater, [0, 0], .bool)]
        }
        // GREATER takes the input, which is the same in all engines.
        #expect(try TFLiteSlices(file).slices.map(\.names) == [["ADD"], ["ARG_MAX", "ADD", "GREATER"]])
        let bytes = try Self.model { tiny in
            let a = tiny.chain(.quantize, [0], .int8, scale: 0.5)
            let b = tiny.chain(.add, [a, a], .int8, scale: 0.5)
            return [tiny.chain(.logistic, [tiny.chain(.dequantize, [b])])]
        }
        let slices = try TFLiteSlices(bytes).slices
        #expect(slices.map(\.names) == [["QUANTIZE", "ADD"], ["DEQUANTIZE", "LOGISTIC"]])
    }

    @Test("operators that compute constants or shapes are repeated in each part that needs them")
    func knownValuesAreRepeated() throws {
        let file = try Self.model { tiny in
            let weights = tiny.chain(.dequantize, [tiny.constant(.int8, [1], [1], scale: 0.5)])
            let shape = tiny.chain(.shape, [0], .int32)
            let packed = tiny.chain(.pack, [shape, shape], .int32)
            let a = tiny.chain(.convolution, [0, weights])
            let b = tiny.chain(.convolution, [a, weights])
            return [tiny.chain(.add, [tiny.chain(.reshape, [b, packed]), b])]
        }
        let slices = try TFLiteSlices(file, length: 1).slices
        #expect(slices.map(\.names) == [["CONV_2D"], ["CONV_2D"], ["RESHAPE"], ["ADD"]])
        let reads = try slices.map { try ReadTFLite($0.bytes(of: file)) }
        // Tensor 1 is the constant; 2 the weights; 3 and 4 the shape; the others results.
        #expect(reads.map { $0.operators.map(\.outputs) } == [[[2], [5]], [[2], [6]], [[3], [4], [7]], [[8]]])
        #expect(reads.map(\.inputs) == [[0], [5], [0, 6], [7, 6]])
        // Random values and outputs of the model are computed once.
        let once = try Self.model { tiny in
            let random = tiny.chain(.randomUniform, [tiny.constant(.int32)])
            let output = tiny.chain(.add, [tiny.constant(), tiny.constant()])
            return [output, tiny.chain(.add, [random, output]), tiny.chain(.mul, [random, output])]
        }
        let parts = try TFLiteSlices(once, length: 1).slices
        #expect(parts.map(\.names) == [["RANDOM_UNIFORM"], ["ADD"], ["ADD"], ["MUL"]])
        #expect(parts.map { $0.outputs.count } == [1, 1, 1, 1])
        #expect(parts.map { $0.blindSpots.count } == [1, 0, 0, 0])
    }

    @Test("a part does not end with a computed shape that a later one takes, if it can end before")
    func computedShapesAreClosed() throws {
        func file(_ isUsedLater: Bool) throws -> [UInt8] {
            try Self.model { tiny in
                let a = tiny.chain(.add, [0, 0])
                let b = tiny.chain(.reshape, [a, tiny.chain(.shape, [0], .int32)])
                let c = tiny.chain(.add, [b, b])
                let d = tiny.chain(.mul, [c, isUsedLater ? b : c])
                return [tiny.chain(.add, [d, d])]
            }
        }
        let slices = try TFLiteSlices(try file(false), length: 2).slices
        #expect(slices.map(\.names) == [["ADD"], ["RESHAPE", "ADD"], ["MUL", "ADD"]])
        #expect(slices.allSatisfy { $0.blindSpots.isEmpty })
        let open = try TFLiteSlices(try file(true), length: 2).slices
        #expect(open.map(\.names) == [["ADD"], ["RESHAPE", "ADD"], ["MUL", "ADD"]])
        #expect(open.map { $0.blindSpots.count } == [0, 1, 0])
        let long = try TFLiteSlices(try file(true), length: 3).slices
        #expect(long.map(\.names) == [["ADD"], ["RESHAPE", "ADD", "MUL"], ["ADD"]])
    }

    @Test("equal names of inputs or outputs are made different, and missing ones stay")
    func namesAreMadeDifferent() throws {
        let file = try Self.model { tiny in
            let a = tiny.chain(.add, [0, 0], name: "same"), b = tiny.chain(.mul, [0, 0], name: "same")
            let c = tiny.chain(.add, [0, 0], name: ""), d = tiny.chain(.mul, [0, 0], name: "")
            return [tiny.chain(.fullyConnected, [a, b, c, d], name: "same")]
        }
        let slices = try TFLiteSlices(file, length: 4).slices
        let names = ["same", "ocelli/2", "", ""]
        #expect(slices[0].outputs.map(\.name) == names && slices[1].inputs.map(\.name) == names)
        #expect(slices[1].outputs.map(\.name) == ["ocelli/5"], "an output is not an input")
        for slice in slices {
            let read = try ReadTFLite(slice.bytes(of: file))
            #expect(Array(read.names[1...4]) == names)
        }
    }

    @Test("other subgraphs stay")
    func subgraphsStay() throws {
        let file = try Self.model { tiny in
            tiny.others = [TinyTFLite.Subgraph(), TinyTFLite.Subgraph()]
            return [tiny.chain(.while_, [tiny.chain(.add, [0, 0])])]
        }
        for slice in try TFLiteSlices(file).slices {
            #expect(try ReadTFLite(slice.bytes(of: file)).subgraphs == 3)
        }
    }

    @Test("files that cannot be cut are refused with the reason")
    func reasons() throws {
        #expect(Self.refusal(try Self.model { _ in [0] }) == "it has no operators")
        let disordered = try Self.model { tiny in
            let late = tiny.main.tensor()
            let output = tiny.chain(.add, [late, late])
            tiny.add(.add, [0, 0], [late])
            return [output]
        }
        #expect(Self.refusal(disordered) == "it has operators that are not in the order of execution")
        let twice = try Self.model { tiny in
            let output = tiny.chain(.add, [0, 0])
            tiny.add(.mul, [0, 0], [output])
            return [output]
        }
        #expect(Self.refusal(twice) == "it has operators with the same output")
        let overwritten = try Self.model { tiny in
            let other = tiny.main.tensor()
            tiny.main.inputs = [0, other]
            tiny.add(.add, [0, 0], [other])
            return [other]
        }
        #expect(Self.refusal(overwritten) == "one of its operators overwrites an input")
        let state = try Self.model { [$0.chain(.readVariable, [$0.chain(.varHandle, [], .resource)])] }
        #expect(Self.refusal(state) == "its operator VAR_HANDLE keeps values from one run to the next")
        let strings = try Self.model { [$0.chain(.add, [$0.chain(.add, [0, 0], .string)])] }
        #expect(Self.refusal(strings) == "its tensor \"t1\" has a type that cannot be passed on")
        #expect(Self.refusal(strings, length: 2) == nil, "no part ends there")
        let unlisted = try Self.model { tiny in
            tiny.main.outputs = nil
            return [tiny.chain(.add, [0, 0])]
        }
        #expect(Self.refusal(unlisted) == nil)
        var noInputs = TinyTFLite()
        noInputs.main.inputs = nil
        noInputs.main.outputs = [noInputs.chain(.add, [noInputs.constant()])]
        #expect(Self.refusal(try noInputs.bytes()) == "it has no lists of inputs and outputs")
        #expect(Self.refusal([]) == "it has 0 bytes, too few for a FlatBuffer")
    }

    @Test("an edit does not apply to another file")
    func editsBelongToTheirFile() throws {
        let slice = try #require(try TFLiteSlices(try Self.row(2)).slices.first)
        #expect(slice.bytes(of: try Self.row(3)).isEmpty)
    }
}
