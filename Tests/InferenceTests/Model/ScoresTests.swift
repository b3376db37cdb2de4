import Foundation
import Inference
internal import Repository
import Rollout
import TestSupport
import Testing

/// Scores that are not confidences are reported when a model is loaded or first returns some; the transforms of scores
/// and pixels are reported too.
@Suite struct ScoresTests {
    /// A bundle of three classes, with an engine that returns the same scores for every picture, including the warm-up.
    private func load(
        _ scores: [Float], members: String = "", normalize: String = "{\"standard\": \"[-1,1]\"}"
    ) async throws -> (Model, TemporaryFolder) {
        let folder = try TemporaryFolder()
        let json = """
            {
              "name": "m", "id": "m", "version": "1", "model": { "file": "m.onnx", "backend": "onnx" },
              "inputs": [ { "name": "image", "type": "image", "shape": [2, 2, 3], "format": "RGB", "normalize": \(normalize) } ],
              "outputs": [ { "name": "scores", "type": "array", "shape": [-1, 3], "labels": "labels.txt"\(members) } ]
            }
            """
        let path = try folder.write(["model.json": json, "labels.txt": "a\nb\nc\n", "m.onnx": ""])
        var configuration = ModelConfiguration()
        configuration.engine = FakeEngine(
            inputs: [TensorPort(name: "image", elementType: .float32, shape: [-1, 2, 2, 3])],
            outputs: [TensorPort(name: "scores", elementType: .float32, shape: [-1, 3])],
            answer: scores.withUnsafeBytes { [UInt8]($0) })
        return (try await Model.load(contentsOf: path, configuration: configuration), folder)
    }

    @Test(
        "scores outside 0 to 1 are reported at the load, with the advice to set an activation",
        arguments: [
            ([Float(-3.5), 0.25, 11.5], "scores of -3.5 to 11.5"), ([-4, -2, -0.5], "scores of -4.0 to -0.5"),
            ([0.1, 1.2, 0], "scores of 0.0 to 1.2"),
        ])
    func logitsAreReportedWhenTheModelIsLoaded(_ scores: [Float], _ words: String) async throws {
        let (model, _) = try await load(scores)
        #expect(model.loadReport.advice.count == 1)
        let advice = model.loadReport.advice.first ?? ""
        #expect(advice.hasPrefix("output \"scores\": \(words) are outside 0 to 1"), "\(advice)")
        #expect(advice.contains("\"activation\": \"softmax\"") && advice.contains("\"sigmoid\""), "\(advice)")
    }

    @Test(
        "scores from 0 to 1 cause no advice at the load",
        arguments: [[Float(0), 0.5, 1], [0, 0, 0], [0.3333, 0.3334, 0.3334], [0.0001, 1.0004, 0]])
    func confidencesAreNot(_ scores: [Float]) async throws {
        let (model, _) = try await load(scores)
        #expect(model.loadReport.advice == [])
    }

    @Test(
        "logits with softmax or sigmoid cause no advice, and the report names the activation",
        arguments: ["softmax", "sigmoid"])
    func whatAnActivationMakesOfLogitsAreConfidences(_ activation: String) async throws {
        let (model, _) = try await load([-3.5, 0.25, 11.5], members: ", \"activation\": \"\(activation)\"")
        #expect(model.loadReport.advice == [])
        #expect(model.loadReport.treatment.last == "output \"scores\": \(activation) of the model's output")
    }

    @Test("the load report describes the processing of pixels and scores")
    func normalizationAndActivationAreReported() async throws {
        let (model, _) = try await load([0, 0.5, 1])
        #expect(
            model.loadReport.treatment == [
                "input \"image\": pixels 0 to 255 become -1 to 1",
                "output \"scores\": scores as the model returns them",
            ])
        let imageNet = "{\"mean\": [0.485, 0.456, 0.406], \"std\": [0.229, 0.224, 0.225]}"
        let (other, _) = try await load([0, 0.5, 1], normalize: imageNet)
        // (0 - 0.485) / 0.229 and (1 - 0.485) / 0.229, and so on.
        #expect(
            other.loadReport.treatment.first
                == "input \"image\": pixels 0 to 255 become -2.118 to 2.249, -2.036 to 2.429, -1.804 to 2.64")
        let (plain, _) = try await load([0, 0.5, 1], normalize: "{\"scale\": 1, \"bias\": 0}")
        #expect(plain.loadReport.treatment.first == "input \"image\": pixels 0 to 255 unchanged")
    }

    private func picture() throws -> EncodedImage {
        EncodedImage([UInt8](try Data(contentsOf: SharedData.packageRoot.appendingPathComponent("examples/seven.png"))))
    }

    /// A threshold is a confidence: it is not applied to other scores, whether far below 0 or above 1.
    @Test(
        "a threshold drops no class where scores are not confidences",
        arguments: [
            ([Float(-3.5), -0.25, -11.5], ["b", "a", "c"]), ([-3.5, 0.25, 11.5], ["c", "b", "a"]),
            ([0.1, 1.2, 0.2], ["b", "c", "a"]), ([-Float.infinity, -2, 7], ["c", "b", "a"]),
        ])
    func aThresholdDoesNotDropLogits(_ scores: [Float], _ labels: [String]) async throws {
        let (model, _) = try await load(scores)
        for threshold in [Float(0), 0.5, 1] {
            let result = try await model.classification(of: try picture(), top: 3, threshold: threshold)
            #expect(result.classifications.map(\.label) == labels && !result.areConfidences)
        }
    }

    /// Activations, and scores without a best class.
    private static let noNumbers: [(String, [Float])] = [
        ("", [0.1, .nan, 0.2]), ("", [.nan, 0.1, 0.2]), ("", [0.1, 0.2, .nan]), ("", [.nan, .nan, .nan]),
        ("sigmoid", [0, 1, .nan]), ("softmax", [0, 1, .nan]), ("softmax", [.nan, 1, 0]),
        ("softmax", [0, .infinity, 1]), ("softmax", [.infinity, .infinity, -.infinity]),
        ("softmax", [-.infinity, -.infinity, -.infinity]),
    ]

    /// By definition, softmax divides by the sum of all exponentials: NaN if that is infinite, NaN or 0.
    @Test(
        "scores of NaN, and logits without a softmax, are an error that names the output and the reason",
        arguments: Self.noNumbers)
    func scoresOfNoNumbersAreAnError(_ activation: String, _ scores: [Float]) async throws {
        let members = activation.isEmpty ? "" : ", \"activation\": \"\(activation)\""
        let (model, _) = try await load(scores, members: members)
        let reason =
            activation == "softmax"
            ? "its softmax is not a number, because a score is NaN or infinite, or all are -infinity" : "a score is NaN"
        for (top, threshold) in [(1, Float(0)), (3, 0), (3, 0.5)] {
            let error = await #expect(throws: InferenceError.self) {
                try await model.classification(of: try picture(), top: top, threshold: threshold)
            }
            #expect(error?.message == "the model's output \"scores\" is invalid: \(reason)")
        }
        let canary = await #expect(throws: InferenceError.self) { try await model.canary() }
        #expect(canary?.message.hasSuffix(reason) == true)
    }

    /// e⁰ / (e⁰ + e⁰) is a half; the sigmoid of an infinity is 0 or 1.
    @Test("infinite scores count where an activation gives them a meaning")
    func infiniteScoresCount() async throws {
        let (masked, _) = try await load([3, -.infinity, 3], members: ", \"activation\": \"softmax\"")
        let half = try await masked.classification(of: try picture(), top: 3)
        #expect(half.classifications.map(\.label) == ["a", "c", "b"])
        #expect(half.classifications.map(\.confidence) == [0.5, 0.5, 0])
        let (sure, _) = try await load([0, .infinity, -.infinity], members: ", \"activation\": \"sigmoid\"")
        let one = try await sure.classification(of: try picture(), top: 3)
        #expect(one.classifications.map(\.label) == ["b", "a", "c"])
        #expect(one.classifications.map(\.confidence) == [1, 0.5, 0])
        #expect(try await masked.canary() == nil)
    }

    @Test("an answer of NaN is compared as its error code")
    func anAnswerOfNaNIsComparedByItsCode() async throws {
        let (model, _) = try await load([0, .nan, 1])
        let answer = await model.comparableAnswer(of: try picture(), task: nil).answer
        guard case .failure(let code, _) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(code == "engine_output_invalid")
    }

    /// A score that rounds to slightly less than 0 is a confidence too.
    @Test(
        "a threshold drops classes where scores are confidences, even with a score slightly below 0",
        arguments: [[Float(0.3), 0.7, -0.0005], [1, 0, -0.0]])
    func aThresholdDropsConfidences(_ scores: [Float]) async throws {
        let (model, _) = try await load(scores)
        let all = try await model.classification(of: try picture(), top: 3)
        #expect(all.classifications.count == 3 && all.areConfidences)
        let sure = try await model.classification(of: try picture(), top: 3, threshold: 0.6)
        #expect(sure.classifications.count == 1 && sure.areConfidences)
    }

    @Test(
        "softmax or sigmoid turns logits into confidences, to which a threshold applies",
        arguments: ["softmax", "sigmoid"])
    func anActivationMakesConfidences(_ activation: String) async throws {
        let (model, _) = try await load([-3.5, 0.25, 11.5], members: ", \"activation\": \"\(activation)\"")
        let result = try await model.classification(of: try picture(), top: 3, threshold: 0.9)
        #expect(result.classifications.map(\.label) == ["c"] && result.areConfidences)
    }

    /// The first answer reports it, once, if the warm-up could not; a model that is loaded again is checked again.
    @Test("without a warm-up, scores outside 0 to 1 are reported at the first answer, once for each load")
    func scoresOfAnAnswerAreReportedOnce() async throws {
        let folder = try TemporaryFolder()
        let json = """
            {
              "name": "m", "id": "m", "version": "1", "model": { "file": "m.onnx", "backend": "onnx" },
              "inputs": [ { "name": "image", "type": "image", "shape": [2, 2, 3], "format": "RGB" } ],
              "outputs": [ { "name": "scores", "type": "array", "shape": [-1, 3], "labels": "labels.txt" } ],
              "runtime": { "warmup": { "runs": 0 } }
            }
            """
        _ = try folder.write(["m/model.json": json, "m/labels.txt": "a\nb\nc\n", "m/m.onnx": ""])
        let engine = FakeEngine(
            inputs: [TensorPort(name: "image", elementType: .float32, shape: [-1, 2, 2, 3])],
            outputs: [TensorPort(name: "scores", elementType: .float32, shape: [-1, 3])],
            answer: [Float(-3.5), 0.25, 11.5].withUnsafeBytes { [UInt8]($0) })
        let (repository, events) = try Bundles.repository(folder, engine: engine)
        await repository.loadEager()

        let picture = try picture()
        func classify() async throws {
            let model = try await repository.model(named: "m")
            let result = try await model.classification(of: picture, top: 2)
            #expect(result.classifications.map(\.label) == ["c", "b"])
        }
        for _ in 0..<3 { try await classify() }
        func advice() -> [String] { events.all.filter { $0.hasPrefix("advice m 1: ") } }
        #expect(advice().count == 1)
        #expect(
            advice().first?.contains("output \"scores\": scores of -3.5 to 11.5 are outside 0 to 1") == true,
            "\(events.all)")
        try await repository.reload("m")
        try await classify()
        #expect(advice().count == 2)
    }
}
