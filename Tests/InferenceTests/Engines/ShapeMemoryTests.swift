import FlowControl
import Foundation
import Inference
import TestSupport
import Testing

/// The memory that engines keep for input sizes is limited, however many sizes occur.
@Suite(.serialized) struct ShapeMemoryTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Convolutions of 3 x 3 over a picture of any size, and the means of their results.
    private static let network: ONNXFile = {
        var nodes: [ONNXFile.Node] = [], constants: [(String, [Float])] = [], channels = 3, last = "image"
        for index in 0..<6 {
            constants.append(("w\(index)", (0..<16 * channels * 9).map { Float($0 % 7) / 50 }))
            nodes += [
                .init("Constant", [], ["shape\(index)"], integers: [("value_ints", [16, channels, 3, 3])]),
                .init("Reshape", ["w\(index)", "shape\(index)"], ["weights\(index)"]),
                .init("Conv", [last, "weights\(index)"], ["conv\(index)"], integers: [("pads", [1, 1, 1, 1])]),
                .init("Relu", ["conv\(index)"], ["relu\(index)"]),
            ]
            (last, channels) = ("relu\(index)", 16)
        }
        nodes.append(.init("GlobalAveragePool", [last], ["mean"]))
        return ONNXFile(
            nodes, inputs: [("image", [1, 3, -1, -1])], outputs: [("mean", [1, 16, 1, 1])], constants: constants)
    }()

    /// The network as a TensorFlow Lite file: operators 3 (CONV_2D) and 40 (MEAN).
    private static let networkForLiteRT: TFLiteModel = {
        var tensors = [TFLiteModel.Tensor("image", [1, -1, -1, 3])], channels = 3
        var operators: [TFLiteModel.Operator] = [], last = 0
        for index in 0..<6 {
            let weights = (0..<16 * channels * 9).map { Float($0 % 7) / 50 }, bias = [Float](repeating: 0, count: 16)
            tensors += [
                .init("w\(index)", [16, 3, 3, channels], constant: weights.withUnsafeBytes { [UInt8]($0) }),
                .init("b\(index)", [16], constant: bias.withUnsafeBytes { [UInt8]($0) }),
                .init("relu\(index)", [1, -1, -1, 16]),
            ]
            let output = tensors.count - 1
            // Conv2DOptions is 1: strides, the activation (1 is ReLU), dilations.
            operators.append(
                .init(
                    3, [last, output - 2, output - 1], [output],
                    options: (1, [(1, .int(1)), (2, .int(1)), (3, .byte(1)), (4, .int(1)), (5, .int(1))])))
            (last, channels) = (output, 16)
        }
        let axes: [Int32] = [1, 2]
        tensors += [
            .init("axes", [2], type: 2, constant: axes.withUnsafeBytes { [UInt8]($0) }), .init("mean", [1, 16]),
        ]
        operators.append(.init(40, [last, last + 1], [last + 2], options: (27, [])))
        return TFLiteModel(tensors: tensors, operators: operators, inputs: [0], outputs: [last + 2])
    }()

    private func load(_ engine: EnginePreference, keeping bytes: Int) async throws -> Model {
        let path = folder.url.appendingPathComponent(engine == .litert ? "model.tflite" : "model.onnx")
        try (engine == .litert ? Self.networkForLiteRT.bytes : Self.network.bytes).write(to: path)
        var configuration = ModelConfiguration()
        configuration.engineRequest.preference = engine
        (configuration.compile.streams, configuration.compile.threads) = (1, 1)
        configuration.compile.shapeMemory = bytes
        return try await Model.load(contentsOf: path.path, configuration: configuration)
    }

    /// The anonymous memory of the process in KiB.
    private static var memory: Int {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("RssAnon:") } ?? ""
        return Int(line.split { !$0.isNumber }.first ?? "") ?? 0
    }

    /// The growth over pictures of 700 sizes, each used once, after 300 others: by then malloc holds enough memory for
    /// temporary allocations.
    private func growth(of model: Model, isChannelsFirst: Bool = true) async throws -> Int {
        func predict(_ height: Int, _ width: Int) async throws {
            let floats = [Float](repeating: 0.5, count: 3 * height * width)
            let shape: Shape = isChannelsFirst ? [1, 3, height, width] : [1, height, width, 3]
            let picture = FeatureValue.multiArray(try MultiArray(shape: shape, floats: floats))
            _ = try await model.prediction(from: ["image": picture] as DictionaryFeatureProvider)
        }
        var before = 0
        for index in 0..<1_000 {
            if index == 300 { before = Self.memory }
            try await predict(39 - index % 32, 39 - index / 32)
        }
        return Self.memory - before
    }

    @Test("OpenVINO keeps no more memory for input sizes than allowed")
    func sizesAreBounded() async throws {
        // The limited one first: memory that the other one frees would hide its growth.
        let bounded = try await growth(of: try await load(.openvino, keeping: 1 << 20))
        let unbounded = try await growth(of: try await load(.openvino, keeping: 1 << 40))
        print("700 sizes: \(bounded) KiB with a bound of 1 MiB, \(unbounded) KiB without")
        #expect(bounded * 2 < unbounded, "\(bounded) KiB with a bound, \(unbounded) without")
    }

    @Test(
        "ONNX Runtime has no cache for the sizes of inputs",
        .enabled(if: EnginesTests.engines.contains(.onnxruntime), "needs ONNX Runtime"))
    func onnxRuntimeKeepsNothing() async throws {
        let found = try await growth(of: try await load(.onnxruntime, keeping: 1 << 20))
        #expect(found < 24 << 10, "\(found) KiB")
    }

    @Test(
        "LiteRT keeps nothing for the sizes of inputs",
        .enabled(if: TestEngines.hasLiteRT, "\(TestEngines.liteRTAbsence)"))
    func liteRTKeepsNothing() async throws {
        let found = try await growth(of: try await load(.litert, keeping: 1 << 20), isChannelsFirst: false)
        #expect(found < 24 << 10, "\(found) KiB")
    }

    @Test("memory reserved for a model's input sizes is not available to pictures until the model is released")
    func theBudgetCountsIt() async throws {
        let budget = DecodeBudget()
        budget.use(total: 1_000)
        var reservation: DecodeBudget.Reservation? = budget.reservation(300)
        #expect(budget.usage.total == 700)
        var other: DecodeBudget.Reservation? = budget.reservation(900)
        // A quarter remains.
        #expect(budget.usage.total == 250)
        budget.use(total: 10_000)
        #expect(budget.usage.total == 8_800)
        withExtendedLifetime((reservation, other)) {}
        (reservation, other) = (nil, nil)
        #expect(budget.usage.total == 10_000 && budget.usage.used == 0)
    }
}
