import Foundation
import Inference
import Rollout
import SystemSupport
import TestSupport
import Testing

/// Pipelines beside rollouts and goldens.
@Suite(.timeLimit(.minutes(3))) struct PipelineVersionsTests {
    private final class TemporaryFolder {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-pipe-\(UUID().uuidString)")
        init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: url) }
    }

    private static let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/pipelines")

    private static func copy(_ name: String, to path: String, in folder: URL) throws {
        let target = folder.appendingPathComponent(path)
        try FileManager.default.createDirectory(
            at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.copyItem(at: fixtures.appendingPathComponent(name), to: target)
    }

    private static func repository(_ folder: URL) async throws -> ModelRepository {
        let repository = ModelRepository(folders: [folder.path], configuration: ModelConfiguration())
        try repository.discover()
        await repository.loadEager()
        return repository
    }

    /// The version of the detector that a pipeline runs, once it is the one expected, or after a while.
    private func detector(_ repository: ModelRepository, expecting version: String) async throws -> String? {
        var found: String?
        for _ in 0..<1_000 {
            found = try await repository.model(named: "all").pipeline?.detector.description.version
            if found == version { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        return found
    }

    @Test("a pipeline runs the version of its model that a rollout has serve")
    func rolloutOfAModel_isThePipelinesToo() async throws {
        let folder = try TemporaryFolder()
        for version in ["1", "2"] { try Self.copy("spots", to: "spots/\(version)", in: folder.url) }
        for name in ["colors", "all"] { try Self.copy(name, to: name, in: folder.url) }
        let repository = try await Self.repository(folder.url)
        #expect(try await detector(repository, expecting: "2") == "2")
        var plan = RolloutPlan()
        plan.serve = "1"
        try await repository.setRollout(of: "spots", plan, deadline: .now + .seconds(60))
        #expect(try await detector(repository, expecting: "1") == "1")
        try await repository.deleteRollout(of: "spots")
        #expect(try await detector(repository, expecting: "2") == "2")
        // A version whose answers are wrong answers nobody, a pipeline's clients neither.
        let wrong = try await repository.model(named: "spots")
        let before = try await repository.model(named: "all")
        try await repository.replace(wrong, because: "a golden differs")
        let after = try await repository.model(named: "all", deadline: .now + .seconds(60))
        #expect(after !== before && after.pipeline?.detector !== wrong)
    }

    @Test("a pipeline does not go on with a model whose answers are wrong and that cannot be loaded again")
    func modelThatIsWrong_takesItsPipelinesWithIt() async throws {
        let folder = try TemporaryFolder()
        for name in ["spots", "colors", "all"] { try Self.copy(name, to: name, in: folder.url) }
        let repository = try await Self.repository(folder.url)
        let wrong = try await repository.model(named: "spots")
        #expect(try await repository.model(named: "all").pipeline?.detector === wrong)
        let file = folder.url.appendingPathComponent("spots/model.onnx")
        let bytes = try Data(contentsOf: file)
        try Data("junk".utf8).write(to: file)
        await #expect(throws: InferenceError.self) { try await repository.replace(wrong, because: "a golden differs") }
        await #expect(throws: InferenceError.self) { try await repository.model(named: "all") }
        try bytes.write(to: file)
        try await repository.reload("spots")
        let after = try await repository.model(named: "all", deadline: .now + .seconds(60))
        #expect(after.pipeline?.detector !== wrong)
    }

    @Test("a pipeline's own goldens are compared when it is loaded", arguments: [true, false])
    func goldensOfAPipeline_areCompared(_ isRight: Bool) async throws {
        let folder = try TemporaryFolder()
        for name in ["spots", "colors", "all"] { try Self.copy(name, to: name, in: folder.url) }
        let picture = try PipelineTests.png(60, 40)
        let world = try await PipelineTests.world(names: ["spots", "colors", "all"])
        var answer = try await world.answer("POST /v1/models/all/detect", picture).json
        var found = answer["detections"] as? [[String: Any]] ?? []
        #expect(found.count == 64)
        if !isRight { for place in found.indices { found[place]["label"] = "other" } }
        answer["detections"] = found
        answer["file"] = "a.png"
        let line = try JSONSerialization.data(withJSONObject: answer)
        let golden = folder.url.appendingPathComponent("all/golden")
        try FileManager.default.createDirectory(at: golden, withIntermediateDirectories: true)
        try line.write(to: golden.appendingPathComponent("expected.jsonl"))
        try Data(picture).write(to: golden.appendingPathComponent("a.png"))
        let repository = try await Self.repository(folder.url)
        let record = try #require(try repository.records(of: "all", version: nil).first)
        if isRight {
            let report = try await repository.model(named: "all").loadReport.goldens
            #expect(report?.compared == 1 && report?.agreed == 1)
        } else {
            guard case .failed(let reason) = record.state else {
                Issue.record("\(record.state)")
                return
            }
            #expect(reason.contains("a.png"), "\(reason)")
        }
    }
}
