import Foundation
import Inference
internal import Repository
import Rollout
import Synchronization
import SystemSupport
import TestSupport
import Testing

/// Pipelines together with rollouts and goldens.
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

    /// The version of a pipeline's detector, once it is the expected one, or after a timeout.
    private func detector(_ repository: ModelRepository, expecting version: String) async throws -> String? {
        var found: String?
        for _ in 0..<1_000 {
            found = try await repository.model(named: "all", deadline: .now + .seconds(60)).pipeline?.detector
                .description.version
            if found == version { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        return found
    }

    @Test("a pipeline runs the version of its model that the rollout serves")
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
        // A version with wrong answers answers no request, not even those for a pipeline.
        let wrong = try await repository.model(named: "spots")
        let before = try await repository.model(named: "all", deadline: .now + .seconds(60))
        try await repository.replace(wrong, because: "a golden differs")
        let after = try await repository.model(named: "all", deadline: .now + .seconds(60))
        #expect(after !== before && after.pipeline?.detector !== wrong)
    }

    @Test("requests for a pipeline wait while one of its models, whose answers are wrong, is loaded again")
    func pipelineOfAModelThatIsReplaced_isWaitedFor() async throws {
        let folder = try TemporaryFolder()
        for name in ["spots", "colors", "all"] { try Self.copy(name, to: name, in: folder.url) }
        let repository = try await Self.repository(folder.url)
        let end = Flag()
        let asking = Task {
            while !end.isSet {
                _ = try await repository.model(named: "all", deadline: .now + .seconds(60))
                await Task.yield()
            }
        }
        for _ in 0..<20 {
            let wrong = try await repository.model(named: "spots")
            try await repository.replace(wrong, because: "a golden differs")
            let pipeline = try #require(try repository.readyModel(named: "all")?.pipeline)
            #expect(pipeline.detector !== wrong)
        }
        end.set()
        try await asking.value
    }

    @Test("a pipeline stops with a model whose answers are wrong and that cannot be loaded again")
    func modelThatIsWrong_takesItsPipelinesWithIt() async throws {
        let folder = try TemporaryFolder()
        for name in ["spots", "colors", "all"] { try Self.copy(name, to: name, in: folder.url) }
        let repository = try await Self.repository(folder.url)
        let wrong = try await repository.model(named: "spots")
        #expect(try await repository.model(named: "all", deadline: .now + .seconds(60)).pipeline?.detector === wrong)
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

    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { value.load(ordering: .acquiring) }
        func set() { value.store(true, ordering: .releasing) }
    }

    /// The end of a label, which is the version of its model.
    private static func version(_ label: Any?) -> String {
        (label as? String)?.split(separator: "-").last.map(String.init) ?? "none"
    }

    /// The versions of the detector and of the classifier in an answer.
    private static func versions(_ found: [[String: Any]]) -> (finds: Set<String>, stages: Set<String>) {
        let stages = found.flatMap { one in
            ["a", "b"].map { stage in
                let said = (one[stage] as? [String: Any])?["classifications"] as? [[String: Any]]
                return version(said?.first?["label"])
            }
        }
        return (Set(found.map { version($0["label"]) }), Set(stages))
    }

    /// The labels of a model contain its version.
    @Test("no answer mixes two versions of a model, however often the models are replaced")
    func versions_areNeverMixed() async throws {
        let twice = """
            {"model": "spots", "threshold": 0.8, "each": [{"as": "a", "model": "colors", "task": "classify", "top": 1},
              {"as": "b", "model": "colors", "task": "classify", "top": 1, "crop": {"margin": 0.1}}]}
            """
        let world = try await PipelineTests.world({ _ in }, ["twice": twice], names: ["spots", "colors"])
        let picture = try PipelineTests.png(300, 200)
        func write(_ number: Int) throws {
            for (name, labels) in [("spots", ["even", "odd"]), ("colors", ["red", "green", "blue"])] {
                try labels.map { "\($0)-\(number)\n" }.joined().write(
                    to: world.folder.appendingPathComponent("\(name)/labels.txt"), atomically: true, encoding: .utf8)
            }
        }
        try write(0)
        for name in ["spots", "colors"] { try await world.repository.reload(name) }
        let end = Flag()
        let seen = await withTaskGroup(of: [Set<String>].self) { group in
            for _ in 0..<3 {
                group.addTask {
                    var all: [Set<String>] = [[], []]
                    while !end.isSet {
                        let reply = try? await world.answer("POST /v1/models/twice/detect", picture)
                        let found = reply?.json["detections"] as? [[String: Any]] ?? []
                        let (finds, stages) = Self.versions(found)
                        #expect(reply?.status == 200 && found.count >= 19, "\(reply?.text.prefix(200) ?? "")")
                        #expect(finds.count == 1 && stages.count == 1, "\(finds) \(stages)")
                        all[0].formUnion(finds)
                        all[1].formUnion(stages)
                    }
                    return all
                }
            }
            for number in 1...12 {
                try? write(number)
                for name in number % 2 == 0 ? ["spots", "colors"] : ["colors", "spots"] {
                    try? await world.repository.reload(name)
                }
            }
            end.set()
            var all: [Set<String>] = [[], []]
            for await one in group { for (place, versions) in one.enumerated() { all[place].formUnion(versions) } }
            return all
        }
        // Requests were sent while the versions changed.
        #expect(seen.allSatisfy { $0.count > 3 && !$0.contains("none") }, "\(seen)")
        let last = try await world.answer("POST /v1/models/twice/detect", picture).json
        let (finds, stages) = Self.versions(last["detections"] as? [[String: Any]] ?? [])
        #expect(finds == ["12"] && stages == ["12"])
    }

    @Test("a pipeline's own goldens are compared when the pipeline is loaded", arguments: [true, false])
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
