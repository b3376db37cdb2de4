import Foundation
import Inference
import TestSupport
import Testing

/// Faults that are planted in the first engine, in front of a fake referee and of the real one: each is found when a
/// model is loaded, and without a fault the model stays on the first engine.
@Suite(.timeLimit(.minutes(5))) struct EngineFaultTests {
    typealias Fault = FaultyEngine.Fault

    /// The faults, and none.
    private static let faults: [Fault?] = Fault.allCases + [nil]

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func load(_ engine: any Engine, _ bytes: Data) async throws -> LoadReport {
        let path = folder.url.path + "/model.onnx"
        try bytes.write(to: URL(fileURLWithPath: path))
        var configuration = ModelConfiguration()
        configuration.engine = engine
        configuration.engineComparisonTime = .seconds(60)
        return try await Model.load(contentsOf: path, configuration: configuration).loadReport
    }

    private func check(_ report: LoadReport, _ fault: Fault?) {
        guard let fault else {
            #expect(report.engine?.name == "openvino", "\(report.engine?.reason ?? "")")
            #expect(report.confirmation.by != nil, "\(report.confirmation.text)")
            return
        }
        let words =
            switch fault {
            case .shape: "has shape"
            case .stale, .depends: "gives different answers to the same input"
            default: "computes it wrongly"
            }
        #expect(report.engine?.name == "onnxruntime")
        #expect(report.engine?.reason?.contains(words) == true, "\(fault): \(report.engine?.reason ?? "no reason")")
    }

    @Test(
        "each planted fault is found by a referee that computes the same, with fixed and open axes",
        arguments: faults, [false, true])
    func aFakeReferee(fault: Fault?, isOpen: Bool) async throws {
        let shape: Shape = isOpen ? [1, 4, -1, -1] : [1, 4, 60, 60]
        let function: FunctionEngine.Function = { shape, values in .success((shape, values.map { 2 * $0 + 1 })) }
        let engine = ChoosingEngine.between(
            FaultyEngine(FunctionEngine("first", shape, function), fault), FunctionEngine("second", shape, function))
        check(try await load(engine, Data(UUID().uuidString.utf8)), fault)
    }

    @Test(
        "each planted fault in OpenVINO's answers is found by ONNX Runtime, in 32-bit floats and in 8-bit integers",
        .enabled(if: TestEngines.hasONNXRuntime, "\(TestEngines.absence)"), arguments: faults,
        [(false, false), (false, true), (true, false), (true, true)])
    func theRealReferee(fault: Fault?, kind: (isInteger: Bool, isOpen: Bool)) async throws {
        let engine = ChoosingEngine(
            FaultyEngine(try DefaultEngine.shared(), fault), runtimes: DefaultEngine.runtimes)
        let file = Self.network(isInteger: kind.isInteger, side: kind.isOpen ? -1 : 48)
        check(try await load(engine, file.bytes), fault)
    }

    /// Two convolutions with an activation between them, and for integers with quantization around each.
    private static func network(isInteger: Bool, side: Int) -> ONNXFile {
        var random = SplitMix(seed: 7)
        func weights(_ count: Int, _ size: Float) -> [Float] {
            (0..<count).map { _ in (Float(random.next() >> 40) / Float(1 << 23) - 1) * size }
        }
        func convolution(_ input: String, _ weights: String, _ output: String) -> ONNXFile.Node {
            ONNXFile.Node(
                "Conv", [input, weights], [output],
                integers: [("kernel_shape", [3, 3]), ("pads", [1, 1, 1, 1])])
        }
        func quantized(_ name: String, _ scale: String) -> [ONNXFile.Node] {
            guard isInteger else { return [ONNXFile.Node("Identity", [name], [name + "_d"])] }
            return [
                ONNXFile.Node("QuantizeLinear", [name, scale, "middle"], [name + "_q"]),
                ONNXFile.Node("DequantizeLinear", [name + "_q", scale, "middle"], [name + "_d"]),
            ]
        }
        let nodes =
            quantized("x", "step") + [convolution("x_d", "w1", "a"), ONNXFile.Node("Relu", ["a"], ["b"])]
            + quantized("b", "step") + [convolution("b_d", "w2", "c")] + quantized("c", "step")
        return ONNXFile(
            nodes, inputs: [("x", [1, 3, side, side])], outputs: [("c_d", [1, 6, side, side])]
        )
        .with("w1", [8, 3, 3, 3], weights(8 * 27, 0.5)).with("w2", [6, 8, 3, 3], weights(6 * 72, 0.3))
        .with("step", [], [1.0 / 64]).with("middle", [], bytes: [128])
    }
}
