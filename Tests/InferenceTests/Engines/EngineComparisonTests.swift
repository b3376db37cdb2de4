import Foundation
import Inference
import Synchronization
import TestSupport
import Testing

/// The comparison of two engines when an ONNX file is loaded: with engines that compute a function, and with real ones.
@Suite(.timeLimit(.minutes(2))) struct EngineComparisonTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(["model.onnx": "a model \(UUID().uuidString)"])
    }

    /// Loads a file with two engines and the default settings.
    /// - Parameter referee: completes the referee, which is the second engine.
    private func load(
        _ first: any Engine, _ second: any Engine, time: Duration = .seconds(60),
        referee: @escaping @Sendable (inout EngineReferee) -> Void = { _ in }
    ) async throws -> LoadReport {
        var configuration = ModelConfiguration()
        configuration.engine = ChoosingEngine.between(first, second, referee: referee)
        configuration.compile.streams = 1
        configuration.engineComparisonTime = time
        return try await Model.load(contentsOf: folder.url.path + "/model.onnx", configuration: configuration)
            .loadReport
    }

    private static let sides: Shape = [1, 2, -1, -1]
    /// Doubles each value.
    private static let double: FunctionEngine.Function = { shape, values in .success((shape, values.map { 2 * $0 })) }

    private static func refusal(_ detail: String) -> FunctionEngine.Answer {
        .failure(EngineError(kind: .failure, operation: "run the inference", detail: detail))
    }

    private static func area(_ shape: Shape) -> Int { shape.dimensions[2] * shape.dimensions[3] }

    // MARK: Extents

    @Test("engines that agree are compared at small, odd, usual and large extents, which the report names")
    func enginesThatAgree() async throws {
        let second = FunctionEngine("second", Self.sides, Self.double)
        let report = try await load(FunctionEngine("first", Self.sides, Self.double), second)
        #expect(report.engine?.name == "openvino" && report.confirmation.reason == nil)
        #expect(
            report.confirmation.shapes == ["[1,2,32,32]", "[1,2,37,51]", "[1,2,224,224]", "[1,2,256,320]"])
    }

    @Test("a model with an open number of rows is compared with one row, with three and with nine")
    func severalRows() async throws {
        let report = try await load(
            FunctionEngine("first", [-1, 4], Self.double), FunctionEngine("second", [-1, 4], Self.double))
        #expect(report.confirmation.shapes == ["[1,4]", "[3,4]", "[9,4]"])
    }

    @Test("a model that takes only multiples of 32 is compared at odd multiples of it")
    func multiplesOfAPowerOfTwo() async throws {
        let multiples: FunctionEngine.Function = { shape, values in
            shape.dimensions.suffix(2).allSatisfy { $0 % 32 == 0 }
                ? .success((shape, values)) : Self.refusal("32 does not divide it")
        }
        let report = try await load(
            FunctionEngine("first", Self.sides, multiples), FunctionEngine("second", Self.sides, multiples))
        #expect(report.engine?.name == "openvino")
        #expect(report.confirmation.shapes.contains("[1,2,96,160]"), "\(report.confirmation.shapes)")
    }

    @Test("a model with fixed shapes names them, and a second load runs nothing and names them too")
    func theSecondLoadCostsNothing() async throws {
        let second = FunctionEngine("second", [1, 4], Self.double)
        for _ in 0..<2 {
            let report = try await load(FunctionEngine("first", [1, 4], Self.double), second)
            #expect(report.confirmation.shapes == ["[1,4]"])
        }
        let runs = second.shapes.withLock { $0.count }
        _ = try await load(FunctionEngine("first", [1, 4], Self.double), second)
        #expect(runs > 0 && second.shapes.withLock { $0.count } == runs)
    }

    @Test("a model that both engines refuse at all extents runs on its format's runtime, at the next load too")
    func nothingFits() async throws {
        let nothing: FunctionEngine.Function = { _, _ in Self.refusal("it takes nothing") }
        let second = FunctionEngine("second", Self.sides, nothing)
        var runs: [Int] = []
        for _ in 0..<2 {
            let report = try await load(FunctionEngine("first", Self.sides, nothing), second)
            #expect(report.engine?.name == "onnxruntime" && report.confirmation.shapes == [])
            #expect(
                report.engine?.reason
                    == "OpenVINO cannot be compared: its shape is open, and no extents were found that it takes: it takes nothing"
            )
            runs.append(second.shapes.withLock { $0.count })
        }
        #expect(runs[0] > 4 && runs[0] == runs[1], "\(runs)")
    }

    @Test("of a slow model only the first extents are compared")
    func aSlowModel() async throws {
        let slow: FunctionEngine.Function = { shape, values in
            usleep(20_000)
            return .success((shape, values))
        }
        let report = try await load(
            FunctionEngine("first", Self.sides, slow), FunctionEngine("second", Self.sides, slow),
            time: .milliseconds(1))
        #expect(report.confirmation.shapes == ["[1,2,32,32]"])
    }

    @Test("a model with random answers is not compared")
    func randomAnswers() async throws {
        let calls = Atomic<Int>(0)
        let random: FunctionEngine.Function = { shape, values in
            .success((shape, values.map { _ in Float(calls.wrappingAdd(1, ordering: .relaxed).oldValue) }))
        }
        let report = try await load(
            FunctionEngine("first", Self.sides, Self.double), FunctionEngine("second", Self.sides, random))
        #expect(report.confirmation.reason == "the same input gives different answers")
        #expect(report.engine?.name == "openvino")
    }

    // MARK: Planted faults

    @Test("an answer of another shape makes the second engine serve, with fixed shapes too", arguments: [false, true])
    func anotherShape(isOpen: Bool) async throws {
        let shape = isOpen ? Self.sides : [1, 2, 4, 4]
        let larger: FunctionEngine.Function = { shape, values in
            .success((Shape(shape.dimensions.dropLast() + [(shape.dimensions.last ?? 0) + 1]), values + values))
        }
        let report = try await load(
            FunctionEngine("first", shape, larger), FunctionEngine("second", shape, Self.double))
        let reason = report.engine?.reason ?? ""
        #expect(report.engine?.name == "onnxruntime")
        let expected = isOpen ? "shape [1,2,32,33] instead of [1,2,32,32]" : "shape [1,2,4,5] instead of [1,2,4,4]"
        #expect(reason.hasPrefix("OpenVINO computes it wrongly: output \"y\" has \(expected) for "), "\(reason)")
        #expect(report.confirmation.by == "second, the format's own runtime")
    }

    @Test("an answer of another rank makes the second engine serve")
    func anotherRank() async throws {
        let flat: FunctionEngine.Function = { shape, values in .success(([values.count], values.map { 2 * $0 })) }
        let report = try await load(
            FunctionEngine("first", [1, 4], flat), FunctionEngine("second", [1, 4], Self.double))
        #expect(report.engine?.reason?.contains("has shape [4] instead of [1,4]") == true)
    }

    @Test("a channel that is zero only at odd extents makes the second engine serve")
    func aChannelThatIsZeroAtOddExtents() async throws {
        let wrong: FunctionEngine.Function = { shape, values in
            let area = Self.area(shape), isOdd = shape.dimensions[2] % 2 == 1
            return .success((shape, values.enumerated().map { isOdd && $0 >= area ? 0 : 2 * $1 }))
        }
        let report = try await load(
            FunctionEngine("first", Self.sides, wrong), FunctionEngine("second", Self.sides, Self.double))
        #expect(report.engine?.name == "onnxruntime")
        #expect(report.engine?.reason?.hasSuffix("for noise of [1,2,37,51]") == true, "\(report.engine?.reason ?? "")")
    }

    @Test("extents that only the first engine refuses make the second engine serve")
    func anErrorOfTheFirstEngineOnly() async throws {
        let wrong: FunctionEngine.Function = { shape, values in
            shape.dimensions[2] > 200 ? Self.refusal("uneven parts") : Self.double(shape, values)
        }
        let report = try await load(
            FunctionEngine("first", Self.sides, wrong), FunctionEngine("second", Self.sides, Self.double))
        #expect(report.engine?.name == "onnxruntime")
        #expect(report.engine?.reason == "OpenVINO cannot run it with [1,2,224,224]: uneven parts")
    }

    /// An engine that takes invalid inputs may compute nonsense.
    @Test(
        "extents that only the second engine refuses are no difference, unless it refuses all",
        arguments: [false, true])
    func anErrorOfTheSecondEngineOnly(always: Bool) async throws {
        let refuses: FunctionEngine.Function = { shape, values in
            always || shape.dimensions[2] > 200 ? Self.refusal("too large") : Self.double(shape, values)
        }
        let report = try await load(
            FunctionEngine("first", Self.sides, Self.double), FunctionEngine("second", Self.sides, refuses))
        #expect(report.engine?.name == (always ? "onnxruntime" : "openvino"))
        #expect((report.engine?.reason != nil) == always)
        #expect(report.confirmation.shapes == (always ? [] : ["[1,2,32,32]", "[1,2,37,51]"]))
    }

    @Test(
        "with fixed shapes, inputs that an engine refuses are left to the format's runtime", arguments: [false, true])
    func errorsWithFixedShapes(ofBoth: Bool) async throws {
        // The model warms up with zeros.
        let fails: FunctionEngine.Function = { shape, values in
            values.contains { $0 != 0 } ? Self.refusal("no such index") : .success((shape, values))
        }
        let report = try await load(
            FunctionEngine("first", [1, 4], fails), FunctionEngine("second", [1, 4], ofBoth ? fails : Self.double))
        #expect(report.engine?.name == "onnxruntime")
        let reason = ofBoth ? "cannot be compared: no input was found that it takes" : "cannot run it"
        #expect(report.engine?.reason == "OpenVINO \(reason): no such index")
    }

    /// A single value has no range, and a hundred steps of rounding are no fault.
    @Test("a single value or nearly equal ones that differ by rounding agree", arguments: [1, 4])
    func roundingOfNearlyEqualValues(count: Int) async throws {
        let one: FunctionEngine.Function = { shape, values in .success((shape, values.map { _ in 1.0035524 })) }
        let other: FunctionEngine.Function = { shape, values in .success((shape, values.map { _ in 1.0035543 })) }
        let report = try await load(
            FunctionEngine("first", [1, count], one), FunctionEngine("second", [1, count], other))
        #expect(report.engine?.name == "openvino", "\(report.engine?.reason ?? "")")
    }

    @Test("a fault at the ends of the value range makes the second engine serve")
    func aFaultAtTheEdges() async throws {
        // The answer to values of which a third are the largest is wrong; noise and pictures have few of them.
        let wrong: FunctionEngine.Function = { shape, values in
            let isEdge = values.count { $0 == 1 } > values.count / 4
            return .success((shape, values.map { isEdge ? 0 : 2 * $0 }))
        }
        let report = try await load(
            FunctionEngine("first", Self.sides, wrong), FunctionEngine("second", Self.sides, Self.double))
        #expect(report.engine?.reason?.hasSuffix("for the edges of the value range of [1,2,32,32]") == true)
    }

    // MARK: Real engines

    /// Loads a file with the engines that Ocelli has.
    private func load(_ file: ONNXFile) async throws -> Model {
        let path = folder.url.path + "/real.onnx"
        try file.bytes.write(to: URL(fileURLWithPath: path))
        var configuration = ModelConfiguration()
        configuration.engineComparisonTime = .seconds(60)
        return try await Model.load(contentsOf: path, configuration: configuration)
    }

    private static let absence: Comment = "\(TestEngines.absence)"

    /// A window that would begin in the padding does not count: (17 + 2 - 3) / 3 is 5.33, so 6 windows with the last
    /// one beginning at 14; a seventh would begin at 17, which is padding.
    @Test("MaxPool with ceil_mode and pads runs on ONNX Runtime", .enabled(if: TestEngines.hasONNXRuntime, absence))
    func maxPoolInThePadding() async throws {
        let file = ONNXFile(
            [
                .init(
                    "MaxPool", ["x"], ["y"],
                    integers: [
                        ("kernel_shape", [3, 3]), ("strides", [3, 3]), ("pads", [1, 1, 1, 1]), ("ceil_mode", [1]),
                    ])
            ], inputs: [("x", [1, 1, 17, 17])], outputs: [("y", [1, 1, 7, 7])], opset: 12)
        let model = try await load(file)
        #expect(model.loadReport.engine?.name == "onnxruntime")
        #expect(model.loadReport.engine?.reason?.contains("has shape [1,1,7,7] instead of [1,1,6,6]") == true)
        let ramp = try MultiArray(shape: [1, 1, 17, 17], floats: (0..<289).map { Float($0) })
        for _ in 0..<2 {
            let answer = try await model.prediction(from: ["x": .multiArray(ramp)] as DictionaryFeatureProvider)
            guard case .multiArray(let array)? = answer.featureValue(for: "y") else {
                Issue.record("no array")
                return
            }
            #expect(array.shape == [1, 1, 6, 6])
            // Windows end at 1, 4, 7, 10, 13 and 16.
            let ends = [1, 4, 7, 10, 13, 16]
            #expect(array.doubles == ends.flatMap { row in ends.map { Double(17 * row + $0) } })
        }
    }

    @Test(
        "Resize with antialias and open sides runs on ONNX Runtime",
        .enabled(if: TestEngines.hasONNXRuntime, absence))
    func antialiasWithOpenSides() async throws {
        let file = ONNXFile(
            [
                ONNXFile.Node(
                    "Resize", ["x", "", "scales"], ["y"], integers: [("antialias", [1])], texts: [("mode", "linear")])
            ], inputs: [("x", [1, 1, -1, -1])], outputs: [("y", [1, 1, -1, -1])],
            constants: [("scales", [1, 1, 1, 0.5])])
        let model = try await load(file)
        #expect(model.loadReport.engine?.name == "onnxruntime")
        let row = try MultiArray(shape: [1, 1, 1, 8], floats: [7, 0, 0, 8, 0, 0, 0, 0])
        let answer = try await model.prediction(from: ["x": .multiArray(row)] as DictionaryFeatureProvider)
        guard case .multiArray(let array)? = answer.featureValue(for: "y") else {
            Issue.record("no array")
            return
        }
        // Weights 1, 3, 3, 1 about the middle of two pixels; beyond the border the pixel at it counts.
        let expected = [3.5, 3, 1, 0]
        #expect(zip(array.doubles, expected).allSatisfy { abs($0 - $1) < 1e-4 }, "\(array.doubles)")
    }

    @Test(
        "Split into uneven parts at open sides runs on ONNX Runtime", .enabled(if: TestEngines.hasONNXRuntime, absence))
    func unevenParts() async throws {
        let file = ONNXFile(
            [ONNXFile.Node("Split", ["x"], ["y", "z"], integers: [("axis", [3]), ("num_outputs", [2])])],
            inputs: [("x", [1, 1, -1, -1])], outputs: [("y", [1, 1, -1, -1]), ("z", [1, 1, -1, -1])])
        let model = try await load(file)
        #expect(model.loadReport.engine?.name == "onnxruntime")
        #expect(model.loadReport.engine?.reason?.hasPrefix("OpenVINO cannot run it with [1,1,37,51]: ") == true)
        let row = try MultiArray(shape: [1, 1, 1, 3], floats: [1, 2, 3])
        let answer = try await model.prediction(from: ["x": .multiArray(row)] as DictionaryFeatureProvider)
        guard case .multiArray(let rest)? = answer.featureValue(for: "z") else {
            Issue.record("no array")
            return
        }
        #expect(rest.doubles == [3])
    }

    @Test(
        "PRelu with a slope for each channel and open sides agrees", .enabled(if: TestEngines.hasONNXRuntime, absence))
    func slopesOfChannels() async throws {
        let file = ONNXFile(
            [
                ONNXFile.Node("Transpose", ["x"], ["t"], integers: [("perm", [0, 2, 3, 1])]),
                ONNXFile.Node("PRelu", ["t", "slopes"], ["y"]),
            ], inputs: [("x", [1, 3, -1, -1])], outputs: [("y", [1, -1, -1, 3])],
            constants: [("slopes", [0.25, 0.5, 0.75])])
        let model = try await load(file)
        let pixel = try MultiArray(shape: [1, 3, 1, 1], floats: [-4, -4, -4])
        let answer = try await model.prediction(from: ["x": .multiArray(pixel)] as DictionaryFeatureProvider)
        guard case .multiArray(let array)? = answer.featureValue(for: "y") else {
            Issue.record("no array")
            return
        }
        #expect(array.doubles == [-1, -2, -3], "\(model.loadReport.engine?.name ?? "")")
    }
}
