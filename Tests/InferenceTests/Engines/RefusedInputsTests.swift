import FlowControl
import Foundation
import Inference
import TestSupport
import Testing

/// Valid inputs that OpenVINO refuses, or fails on, run on ONNX Runtime, with the engines themselves. The values are
/// computed by hand.
@Suite(.enabled(if: TestEngines.hasONNXRuntime, "\(TestEngines.absence)"), .serialized)
struct RefusedInputsTests {
    /// A file, and inputs with the values of the output `y`.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let file: ONNXFile
        /// Inputs that OpenVINO refuses, and inputs that it takes.
        let refused: [(inputs: [Input], y: [Float])], taken: [(inputs: [Input], y: [Float])]
    }

    struct Input: Sendable {
        let name: String, shape: [Int], values: [Float]

        init(_ name: String, _ shape: [Int], _ values: [Float]) {
            self.name = name
            self.shape = shape
            self.values = values
        }
    }

    private static func numbers(_ count: Int) -> [Float] { (0..<count).map { Float($0) } }

    private static let picture: [(String, [Int])] = [("x", [1, 1, -1, -1])]

    /// The window is larger than the picture; with `ceil_mode` it still gives values.
    private static let pooling = [
        ("MaxPool", [Float(4)], [Float(7), 9]), ("AveragePool", [2.5], [3.5, 5.5]),
    ].map { operation, square, wide in
        Case(
            testDescription: operation,
            file: ONNXFile(
                [
                    .init(
                        operation, ["x"], ["y"],
                        integers: [("kernel_shape", [3, 3]), ("strides", [2, 2]), ("ceil_mode", [1])])
                ], inputs: picture, outputs: [("y", [1, 1, -1, -1])]),
            refused: [
                ([Input("x", [1, 1, 2, 2], [1, 2, 3, 4])], square), ([Input("x", [1, 1, 2, 5], numbers(10))], wide),
            ],
            taken: [([Input("x", [1, 1, 3, 3], [Float](repeating: 5, count: 9))], [5])])
    }

    /// Three parts of two, two and one rows.
    private static let split = Case(
        testDescription: "Split",
        file: ONNXFile(
            [
                .init("Split", ["x"], ["a", "b", "c"], integers: [("axis", [0]), ("num_outputs", [3])]),
                .init("Concat", ["c", "a"], ["y"], integers: [("axis", [0])]),
            ], inputs: [("x", [-1, 2])], outputs: [("y", [-1, 2])]),
        refused: [
            ([Input("x", [5, 2], numbers(10))], [8, 9, 0, 1, 2, 3]),
            ([Input("x", [8, 2], numbers(16))], [12, 13, 14, 15, 0, 1, 2, 3, 4, 5]),
        ],
        taken: [([Input("x", [3, 2], numbers(6))], [4, 5, 0, 1])])

    /// The indices choose from fewer columns than the values have.
    private static let gather = Case(
        testDescription: "GatherElements",
        file: ONNXFile(
            [
                .init("Cast", ["i"], ["indices"], integers: [("to", [7])]),
                .init("GatherElements", ["x", "indices"], ["y"], integers: [("axis", [0])]),
            ], inputs: [("x", [-1, -1]), ("i", [-1, -1])], outputs: [("y", [-1, -1])]),
        refused: [([Input("x", [3, 2], numbers(6)), Input("i", [1, 1], [2])], [4])],
        taken: [([Input("x", [3, 2], numbers(6)), Input("i", [1, 2], [2, 1])], [4, 3])])

    /// The shapes of the inputs are fixed; a value cuts a part of the picture that is smaller than the window. Zeros,
    /// which a load runs, cut nothing.
    private static let cut = Case(
        testDescription: "Slice",
        file: ONNXFile(
            [
                .init("Add", ["s", "size"], ["sum"]), .init("Cast", ["sum"], ["ends"], integers: [("to", [7])]),
                .init("Constant", [], ["starts"], integers: [("value_ints", [0, 0])]),
                .init("Constant", [], ["axes"], integers: [("value_ints", [2, 3])]),
                .init("Slice", ["x", "starts", "ends", "axes"], ["part"]),
                .init(
                    "MaxPool", ["part"], ["y"],
                    integers: [("kernel_shape", [3, 3]), ("strides", [2, 2]), ("ceil_mode", [1])]),
            ], inputs: [("x", [1, 1, 8, 8]), ("s", [2])], outputs: [("y", [1, 1, -1, -1])],
            constants: [("size", [8, 8])]),
        refused: [
            ([Input("x", [1, 1, 8, 8], numbers(64)), Input("s", [2], [-6, -6])], [9]),
            ([Input("x", [1, 1, 8, 8], numbers(64)), Input("s", [2], [-6, -5])], [10]),
        ],
        taken: [([Input("x", [1, 1, 8, 8], numbers(64)), Input("s", [2], [-5, -5])], [18])])

    static let cases = pooling + [split, gather, cut]

    private func load(_ one: Case) async throws -> (Model, TemporaryFolder) {
        let folder = try TemporaryFolder()
        let path = folder.url.appendingPathComponent("model.onnx")
        try one.file.bytes.write(to: path)
        let model = try await Model.load(contentsOf: path.path, configuration: ModelConfiguration())
        #expect(model.loadReport.engine?.name == "openvino", "\(model.loadReport.engine?.reason ?? "")")
        return (model, folder)
    }

    private func answer(_ model: Model, _ inputs: [Input]) async throws -> [Double] {
        let features = DictionaryFeatureProvider(
            try inputs.map { ($0.name, .multiArray(try MultiArray(shape: Shape($0.shape), floats: $0.values))) })
        guard case .multiArray(let array)? = try await model.prediction(from: features).featureValue(for: "y") else {
            return []
        }
        return array.doubles
    }

    @Test("inputs that OpenVINO refuses have the right answer each time, and do not affect others", arguments: cases)
    func refusedInputsAreAnswered(_ one: Case) async throws {
        let (model, _folder) = try await load(one)
        for (inputs, y) in one.taken { #expect(try await answer(model, inputs) == y.map(Double.init)) }
        #expect(model.statistics.fallbacks == 0)
        for round in 0..<3 {
            for (inputs, y) in one.refused + one.taken {
                #expect(try await answer(model, inputs) == y.map(Double.init), "round \(round): \(inputs)")
            }
        }
        #expect(model.statistics.fallbacks >= UInt64(3 * one.refused.count))
        #expect(model.statistics.failure.count == 0)
        #expect(model.limiter.snapshot.inFlight == 0)
        _ = _folder
    }

    @Test("many such inputs at the same time, among others, have their own answers", arguments: cases)
    func refusedInputsAtTheSameTime(_ one: Case) async throws {
        let (model, _folder) = try await load(one)
        let all = one.refused + one.taken
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<100 {
                let (inputs, y) = all[index % all.count]
                group.addTask {
                    let found = try await answer(model, inputs)
                    #expect(found == y.map(Double.init), "\(index): \(inputs)")
                }
            }
            try await group.waitForAll()
        }
        #expect(model.limiter.snapshot.inFlight == 0)
        _ = _folder
    }

    /// OpenVINO returns numbers for NaN, which a picture that Ocelli decodes cannot have.
    @Test(
        "NaN and infinities in the tensor of a picture have the answers of the format's runtime, and no other input has"
    )
    func nonFiniteValues() async throws {
        let file = ONNXFile(
            [.init("Relu", ["x"], ["y"])], inputs: [("x", [1, 3, 2, 2])], outputs: [("y", [1, 3, 2, 2])])
        let (model, _folder) = try await load(Case(testDescription: "Relu", file: file, refused: [], taken: []))
        #expect(model.loadReport.confirmation.by != nil && model.loadReport.confirmation.losesNonFinite)
        let finite: [Float] = [-1, 2, 0, 3, -4, 5, 6, -7, 8, 9, 10, 11]
        for round in 1...3 {
            for (place, value) in [(0, Float.nan), (11, .nan), (4, -.infinity), (5, .infinity)] {
                var values = finite
                values[place] = value
                let found = try await answer(model, [Input("x", [1, 3, 2, 2], values)])
                let expected = values.map { Double($0.isNaN ? .nan : max(0, $0)) }
                #expect(
                    found.count == 12 && zip(found, expected).allSatisfy { $0 == $1 || ($0.isNaN && $1.isNaN) },
                    "\(value): \(found)")
            }
            #expect(model.statistics.fallbacks == UInt64(4 * round))
            #expect(
                try await answer(model, [Input("x", [1, 3, 2, 2], finite)]) == finite.map { Double(max(0, $0)) })
            #expect(model.statistics.fallbacks == UInt64(4 * round))
        }
        _ = _folder
    }

    @Test("a shape that neither engine takes is an invalid input with the reasons of both")
    func shapesThatBothRefuse() async throws {
        let (model, _folder) = try await load(Self.split)
        for _ in 0..<2 {
            let error = await #expect(throws: InferenceError.self) {
                try await answer(model, [Input("x", [4, 2], Self.numbers(8))])
            }
            guard case .invalidInput(name: "x", let reason)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(reason.hasPrefix("the model does not take shape [4,2]: ") && reason.contains("; ONNX Runtime "))
        }
        #expect(try await answer(model, Self.split.refused[0].inputs) == Self.split.refused[0].y.map(Double.init))
        _ = _folder
    }
}
