import Foundation
import Inference
import TestSupport
import Testing

/// Mistakes in a `pipeline` of model.json, and the message for each.
@Suite struct PipelineProblemsTests {
    private func problems(_ pipeline: String, more: String = "") throws -> [String] {
        let folder = try TemporaryFolder()
        let json = "{\"name\": \"p\", \"id\": \"p\", \"version\": \"1\"\(more), \"pipeline\": \(pipeline)}"
        try json.write(to: folder.url.appendingPathComponent("model.json"), atomically: true, encoding: .utf8)
        do throws(InferenceError) {
            _ = try ModelBundle(path: folder.url.path)
            return []
        } catch {
            guard case .invalidBundle(_, let problems) = error else { return ["\(error)"] }
            return problems.map(\.description)
        }
    }

    private static func stage(_ more: String) -> String {
        "{\"model\": \"d\", \"each\": [{\"as\": \"a\", \"model\": \"m\", \"task\": \"classify\", \(more)}]}"
    }

    @Test("every key of a pipeline is read")
    func everyMember_isRead() throws {
        let folder = try TemporaryFolder()
        try """
        { "name": "p", "id": "p", "version": "3", "runtime": { "load": "lazy", "idle_unload_seconds": 60 },
          "pipeline": {
            "model": "d", "threshold": 0.5, "iou": 0.3, "classes": ["car", 7], "most": 9, "tiles": { "size": 640, "overlap": 0.2 },
            "each": [ { "as": "plate", "model": "p2", "task": "detect", "threshold": 0.1, "iou": 0.2, "top": 3, "most": 2,
                        "classes": ["car"], "crop": { "margin": 0.1, "square": true, "mask": true },
                        "each": [ { "as": "face-1_x", "model": "e", "task": "embed",
                                    "crop": { "align": "five_points", "size": [160, 160] } } ] } ] } }
        """.write(to: folder.url.appendingPathComponent("model.json"), atomically: true, encoding: .utf8)
        let pipeline = try #require(try ModelBundle(path: folder.url.path).manifest?.pipeline)
        #expect(pipeline.threshold == 0.5 && pipeline.iou == 0.3 && pipeline.classes == ["car", "7"])
        #expect(pipeline.maximum == 9 && pipeline.tiles?.size == 640 && pipeline.tiles?.overlap == 0.2)
        #expect(pipeline.models == ["d", "p2", "e"])
        let stages = pipeline.allStages
        #expect(stages.map(\.name) == ["plate", "face-1_x"])
        #expect(stages.map(\.path) == ["pipeline.each[0]", "pipeline.each[0].each[0]"])
        #expect(
            stages[0].task == .detect && stages[0].top == 3 && stages[0].maximum == 2 && stages[0].classes == ["car"])
        #expect(stages[0].crop.margin == 0.1 && stages[0].crop.isSquare && stages[0].crop.isMasked)
        #expect(stages[1].crop.alignment == .fivePoints && stages[1].crop.side == 160)
    }

    @Test(
        "each mistake in a pipeline is a problem with its path",
        arguments: [
            (stage("\"top\": 0"), ["pipeline.each[0].top: expected an integer"]),
            (
                stage("\"treshold\": 0.5"),
                ["pipeline.each[0].treshold: is not a known key (did you mean \"threshold\"?)"]
            ),
            (
                stage("\"each\": [], \"most\": 1, \"iou\": 0.1"),
                [
                    "pipeline.each[0].each: is for a stage with the task \"detect\"", "pipeline.each[0].most: ",
                    "pipeline.each[0].iou: ",
                ]
            ),
            (
                stage("\"crop\": {\"margin\": -0.1}"),
                ["pipeline.each[0].crop.margin: expected a number from 0.0 to 10.0"]
            ),
            (
                stage("\"crop\": {\"align\": \"eyes\"}"),
                ["pipeline.each[0].crop.align: expected one of \"five_points\", \"box\""]
            ),
            (stage("\"crop\": {\"size\": [112, 112]}"), ["pipeline.each[0].crop.size: is for \"align\""]),
            (
                stage("\"crop\": {\"align\": \"five_points\", \"size\": [112, 96]}"),
                ["pipeline.each[0].crop.size: expected width"]
            ),
            (
                stage("\"crop\": {\"align\": \"five_points\", \"margin\": 0.1, \"mask\": true}"),
                [
                    "pipeline.each[0].crop.margin: does not go with", "pipeline.each[0].crop.mask: does not go with",
                ]
            ),
            (stage("\"classes\": []"), ["pipeline.each[0].classes: is empty"]),
            (stage("\"classes\": [1.5]"), ["pipeline.each[0].classes[0]: expected a label or a number"]),
            (
                "{\"each\": [{}]}",
                [
                    "pipeline.model: is missing", "pipeline.each[0].as: is missing",
                    "pipeline.each[0].model: is missing",
                    "pipeline.each[0].task: is missing",
                ]
            ),
            (
                "{\"model\": \"d\", \"tiles\": {\"overlap\": 0.95}}",
                [
                    "pipeline.tiles.size: is missing", "pipeline.tiles.overlap: expected a number from 0.0 to 0.9",
                ]
            ),
            (
                "{\"model\": \"d\", \"each\": [{\"as\": \"box\", \"model\": \"m\", \"task\": \"embed\", \"threshold\": 0.5, \"top\": 1}]}",
                [
                    "pipeline.each[0].as: \"box\" is a member that each find has",
                    "pipeline.each[0].threshold: is not for the task",
                    "pipeline.each[0].top: is for the tasks",
                ]
            ),
            (
                "{\"model\": \"d\", \"each\": [{\"as\": \"a b\", \"model\": \"m\", \"task\": \"embed\"}]}",
                [
                    "pipeline.each[0].as: expected 1 to 64 letters"
                ]
            ),
            ("[]", ["pipeline: expected an object"]),
        ])
    func mistake_isAProblem(_ pipeline: String, _ expected: [String]) throws {
        let found = try problems(pipeline)
        for reason in expected { #expect(found.contains { $0.hasPrefix(reason) }, "\(reason): \(found)") }
        #expect(found.count >= expected.count)
    }

    @Test("taught models may have the names that only stages which classify name")
    func namesOfTaughtModels_areThoseOfClassifyingStages() throws {
        let folder = try TemporaryFolder()
        try """
        { "name": "p", "id": "p", "version": "1", "pipeline": { "model": "d", "each": [
          { "as": "a", "model": "people", "task": "classify" }, { "as": "b", "model": "d", "task": "classify" },
          { "as": "c", "model": "e", "task": "embed" }, { "as": "d", "model": "e", "task": "classify" },
          { "as": "e", "model": "d2", "task": "detect", "each": [ { "as": "f", "model": "parts", "task": "classify" } ] } ] } }
        """.write(to: folder.url.appendingPathComponent("model.json"), atomically: true, encoding: .utf8)
        let pipeline = try #require(try ModelBundle(path: folder.url.path).manifest?.pipeline)
        #expect(pipeline.namesOfTaughtModels == ["people", "parts"])
        #expect(pipeline.models == ["d", "people", "e", "d2", "parts"])
    }

    @Test("a stage whose taught model nobody knows here says so")
    func unknownTaughtModels_areAbsent() {
        guard case .absent(let absence) = TaughtStages()["people"] else {
            Issue.record("it is not absent")
            return
        }
        #expect(absence.kind == .notFound && absence.message.contains("\"people\""), "\(absence.message)")
        var stages = TaughtStages()
        stages["people"] = .absent(TaughtAbsence(.empty, "nothing is taught"))
        guard case .absent(let other) = stages["people"] else {
            Issue.record("\(stages)")
            return
        }
        #expect(other == TaughtAbsence(.empty, "nothing is taught") && other != absence)
    }

    @Test("stage names of a pipeline are unique at all levels, and stages nest at most three deep")
    func names_areUnique_andLevelsBounded() throws {
        func nested(_ depth: Int, name: (Int) -> String) -> String {
            var each = ""
            for level in stride(from: depth, through: 1, by: -1) {
                let inner = each.isEmpty ? "" : ", \"each\": \(each)"
                each = "[{\"as\": \"\(name(level))\", \"model\": \"m\", \"task\": \"detect\"\(inner)}]"
            }
            return "{\"model\": \"d\", \"each\": \(each)}"
        }
        #expect(try problems(nested(3) { "a\($0)" }).isEmpty)
        let deep = try problems(nested(4) { "a\($0)" })
        #expect(deep == ["pipeline.each[0].each[0].each[0].each: is level 4 of stages: expected 3 at most"])
        let twice = try problems(nested(2) { _ in "a" })
        #expect(twice == ["pipeline.each[0].each[0].as: \"a\" is also the name of pipeline.each[0]"])
    }

    @Test("model, inputs, outputs, runtime.device and unknown keys are problems next to a pipeline")
    func whatModelsSay_doesNotGoWithAPipeline() throws {
        let found = try problems(
            "{\"model\": \"d\"}",
            more: ", \"model\": {}, \"inputs\": [], \"outputs\": [], \"runtime\": {\"device\": \"CPU\"}, \"other\": 1")
        for path in ["model", "inputs", "outputs", "runtime.device", "other"] {
            #expect(found.contains { $0.hasPrefix("\(path): ") }, "\(path): \(found)")
        }
        // Without any of these, the pipeline has no problem.
        #expect(try problems("{\"model\": \"d\"}").isEmpty)
    }
}
