import Foundation
import Inference
import Testing

/// The comparison of two engines part by part, with parts that compute a function each.
@Suite(.timeLimit(.minutes(2))) struct EnginePartsTests {
    /// Three parts in a row, each with one tensor in and one out.
    private struct Parts: FileParts {
        let folder: String
        /// The part in which a difference proves nothing.
        var disclaimed: Int?
        var count: Int { 3 }
        var modelInputs: [Int] { [0] }
        func operators(of part: Int) -> String { ["ADD", "MUL", "SUB"][part] }
        func tensors(of part: Int) -> (inputs: [Int], outputs: [Int]) { ([part], [part + 1]) }
        func disclaimer(of part: Int) -> String? { part == disclaimed ? "nobody knows" : nil }
        func withFile<R>(of part: Int, _ body: (String) throws(EngineError) -> R) throws(EngineError) -> R {
            try body("\(folder)/part\(part)")
        }
    }

    private static let shape: Shape = [1, 3, 8, 8]

    private static func function(_ body: @escaping @Sendable (Float) -> Float) -> FunctionEngine.Function {
        { shape, values in .success((shape, values.map(body))) }
    }

    /// The functions of the whole file and of its parts.
    private static let whole = function { ($0 + 1) * 3 - 2 }
    private static let right: [String: FunctionEngine.Function?] = [
        "part0": function { $0 + 1 }, "part1": function { $0 * 3 }, "part2": function { $0 - 2 },
    ]
    /// Wrong where a value is larger than the inputs of the model are, but not those of this part.
    private static let wrong = function { $0 > 1.5 ? 0 : $0 * 3 }

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(["model.onnx": "a model \(UUID().uuidString)"])
    }

    /// Loads a file of which the first engine computes the second part with another function.
    private func load(_ second: FunctionEngine.Function?, disclaimed: Int? = nil) async throws -> LoadReport {
        var others = Self.right
        others["part1"] = .some(second)
        let parts = Parts(folder: folder.url.path, disclaimed: disclaimed)
        var configuration = ModelConfiguration()
        configuration.engine = ChoosingEngine.between(
            FunctionEngine("first", Self.shape, Self.whole, others: others),
            FunctionEngine("second", Self.shape, Self.whole, others: Self.right)
        ) { $0.parts = parts }
        configuration.compile.streams = 1
        configuration.engineComparisonTime = .seconds(60)
        return try await Model.load(contentsOf: folder.url.path + "/model.onnx", configuration: configuration)
            .loadReport
    }

    @Test("parts that agree confirm a file, and the report says how many")
    func equalParts() async throws {
        let report = try await load(Self.right["part1"] ?? nil)
        #expect(report.confirmation.by == "second, in 3 of 3 parts and in whole", "\(report.confirmation.text)")
    }

    @Test("an error that the whole file hides is found in its part, and the operators are named")
    func anErrorInAPart() async throws {
        let report = try await load(Self.wrong)
        #expect(report.engine?.name == "onnxruntime")
        #expect(
            report.engine?.reason?.hasPrefix("OpenVINO computes it wrongly: MUL: output \"2\" has 0.0 instead of ")
                == true, "\(report.engine?.reason ?? "")")
    }

    @Test("a difference in a part where it proves nothing is no fault, and the part is not claimed")
    func aDisclaimedPart() async throws {
        let report = try await load(Self.wrong, disclaimed: 1)
        #expect(report.confirmation.by == "second, in 2 of 3 parts and in whole", "\(report.confirmation.text)")
    }

    @Test("a part that an engine does not read proves nothing")
    func anUnreadablePart() async throws {
        let report = try await load(nil)
        #expect(report.confirmation.by == "second, in 2 of 3 parts and in whole", "\(report.confirmation.text)")
    }
}
