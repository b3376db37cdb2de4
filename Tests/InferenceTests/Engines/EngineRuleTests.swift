import Foundation
import Inference
import TestSupport
import Testing

/// The rule of the comparison of engines, with engines that compute a function.
@Suite(.timeLimit(.minutes(2))) struct EngineRuleTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(["model.onnx": "a model \(UUID().uuidString)"])
    }

    /// Loads a file with two engines and the default settings.
    private func load(
        _ first: FunctionEngine, _ second: FunctionEngine,
        referee: @escaping @Sendable (inout EngineReferee) -> Void = { _ in }
    ) async throws -> LoadReport {
        var configuration = ModelConfiguration()
        configuration.engine = ChoosingEngine.between(first, second, referee: referee)
        configuration.compile.streams = 1
        configuration.engineComparisonTime = .seconds(60)
        return try await Model.load(contentsOf: folder.url.path + "/model.onnx", configuration: configuration)
            .loadReport
    }

    private static let map: Shape = [1, 4, 60, 60]
    /// Doubles each value.
    private static let double: FunctionEngine.Function = { shape, values in .success((shape, values.map { 2 * $0 })) }

    /// Doubles each value, and adds differences below `size` that a seed determines.
    private static func rounded(_ size: Float, seed: UInt64) -> FunctionEngine.Function {
        { shape, values in
            var random = SplitMix(seed: seed)
            return .success((shape, values.map { 2 * $0 + (Float(random.next() >> 40) / Float(1 << 23) - 1) * size }))
        }
    }

    @Test(
        "differences as large as those between the referee's own kernels are no fault; without such kernels they are",
        arguments: [true, false])
    func aYardstick(hasVariant: Bool) async throws {
        let variant = FunctionEngine("variant", Self.map, Self.rounded(0.04, seed: 2))
        let report = try await load(
            FunctionEngine("first", Self.map, Self.rounded(0.04, seed: 1)),
            FunctionEngine("second", Self.map, Self.double)
        ) { referee in
            if hasVariant { referee.variant = variant }
        }
        #expect(report.engine?.name == (hasVariant ? "openvino" : "onnxruntime"), "\(report.engine?.reason ?? "")")
    }

    @Test("a single wrong value does not hide among the differences of the referee's own kernels")
    func aYardstickHidesNoSingleValue() async throws {
        let variant = FunctionEngine("variant", Self.map, Self.rounded(0.04, seed: 2))
        let wrong: FunctionEngine.Function = { shape, values in
            var values = values.map { 2 * $0 }
            values[values.count / 3] += 1
            return .success((shape, values))
        }
        let report = try await load(
            FunctionEngine("first", Self.map, wrong), FunctionEngine("second", Self.map, Self.double)
        ) { $0.variant = variant }
        #expect(report.engine?.name == "onnxruntime")
    }

    @Test("a NaN that only the first engine loses is a fault where the format keeps NaN", arguments: [true, false])
    func aLostNaN(keepsNaN: Bool) async throws {
        let loses: FunctionEngine.Function = { shape, values in .success((shape, values.map { $0 > 0 ? $0 : 0 })) }
        let keeps: FunctionEngine.Function = { shape, values in .success((shape, values.map { $0 < 0 ? 0 : $0 })) }
        let report = try await load(
            FunctionEngine("first", [1, 12], loses), FunctionEngine("second", [1, 12], keeps)
        ) { $0.traits.keepsNaN = keepsNaN }
        #expect(report.engine?.name == (keepsNaN ? "onnxruntime" : "openvino"))
        if keepsNaN {
            #expect(
                report.engine?.reason
                    == "OpenVINO computes it wrongly: output \"y\" has 0.0 instead of nan for noise with NaN")
        }
    }

    @Test("a NaN that only the first engine has is a fault")
    func aNaNOfTheFirst() async throws {
        let wrong: FunctionEngine.Function = { shape, values in
            .success((shape, [.nan] + values.dropFirst().map { 2 * $0 }))
        }
        let report = try await load(
            FunctionEngine("first", [1, 12], wrong), FunctionEngine("second", [1, 12], Self.double))
        #expect(report.engine?.name == "onnxruntime")
    }

    @Test("a difference from a referee that proves nothing leaves the model unconfirmed, with the reason")
    func aDisclaimer() async throws {
        let other: FunctionEngine.Function = { shape, values in .success((shape, values.map { 3 * $0 })) }
        let report = try await load(
            FunctionEngine("first", [1, 12], other), FunctionEngine("second", [1, 12], Self.double)
        ) { $0.disclaimer = "the second one ignores an activation" }
        #expect(report.engine?.name == "openvino" && report.engine?.reason == nil)
        #expect(report.confirmation.by == nil)
        #expect(
            report.confirmation.reason?.hasPrefix(
                "the second one ignores an activation (first computes it wrongly: output \"y\" has ") == true,
            "\(report.confirmation.reason ?? "")")
    }

    @Test("the inputs of a model have different values")
    func inputsDiffer() async throws {
        let wrong: FunctionEngine.Functions = { shape, inputs in .success((shape, inputs[0].map { $0 - $0 })) }
        let right: FunctionEngine.Functions = { shape, inputs in
            .success((shape, zip(inputs[0], inputs[1]).map { $0 - $1 }))
        }
        let report = try await load(
            FunctionEngine("first", [1, 12], inputs: 2, wrong), FunctionEngine("second", [1, 12], inputs: 2, right))
        #expect(report.engine?.name == "onnxruntime")
    }

    /// All values are 0 or 1: the range is 1.
    @Test("the report states the largest difference as a fraction of the range", arguments: [Float(0), 5e-5])
    func theLargestDifference(difference: Float) async throws {
        func values(_ difference: Float) -> FunctionEngine.Function {
            { shape, values in .success((shape, values.indices.map { Float($0 % 2) + difference })) }
        }
        let report = try await load(
            FunctionEngine("first", [1, 12], values(difference)), FunctionEngine("second", [1, 12], values(0)))
        let found = try #require(report.confirmation.largestDifference)
        #expect(abs(found - Double(difference)) < 1e-6)
        #expect(report.confirmation.by == "second" && report.confirmation.shapes == ["[1,12]"])
    }
}
