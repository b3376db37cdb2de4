import Foundation
import TestSupport
import Testing

/// Pipelines of the real daemon, compared with Pillow and numpy.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized) struct PipelineClientsTests {
    private static let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/pipelines").path
    private static let pictures = SharedData.packageRoot.appendingPathComponent("Tests/ImagePipelineTests/Fixtures")

    @Test(
        "a pipeline's crops are those of Pillow, for each orientation",
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)))
    func cropsAreThoseOfPillow_forEveryOrientation() throws {
        let daemon = try Daemon(["--models", Self.fixtures])
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.pictures.path)
            .filter { $0.hasPrefix("orientation-") && !$0.hasSuffix(".webp") || $0 == "scene.png" }.sorted()
        #expect(names.count >= 17, "\(names)")
        let result = try PythonClients.run(
            "pipeline_client.py", [daemon.url] + names.map { Self.pictures.path + "/" + $0 })
        #expect(result.status == 0, "\(result.text)\(result.errors)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test(
        "stages of pipelines with real detectors answer as separate requests for the same crops do",
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)),
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
    func realDetectorsAnswer_asSeparateRequestsForTheSameCropsDo() throws {
        let cases = try ObservationCases(only: ["ultraface", "yolox_nano", "embedder"])
        defer { cases.remove() }
        let shared = try #require(SharedData.folder)
        try FileManager.default.copyItem(
            at: shared.appendingPathComponent("models/mobilenet_v1_0.25_224_float"),
            to: cases.models.appendingPathComponent("mobilenet"))
        for (name, pipeline) in [
            (
                "people",
                """
                {"model": "ultraface", "each": [
                  {"as": "kind", "model": "mobilenet", "task": "classify", "top": 5, "crop": {"margin": 0.1, "square": true}}]}
                """
            ),
            (
                "things",
                """
                {"model": "yolox_nano", "each": [
                  {"as": "vector", "model": "embedder", "task": "embed", "crop": {"square": true}},
                  {"as": "wide", "model": "embedder", "task": "embed", "crop": {"margin": 0.25, "square": true}}]}
                """
            ),
        ] {
            let bundle = cases.models.appendingPathComponent(name)
            try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
            try "{\"name\": \"\(name)\", \"id\": \"\(name)\", \"version\": \"1\", \"pipeline\": \(pipeline)}"
                .write(to: bundle.appendingPathComponent("model.json"), atomically: true, encoding: .utf8)
        }
        let pictures = try ["ultraface", "yolox_nano"].flatMap { name in
            let one = try cases.case(name)
            return one.pictures.map { one.path($0.name) }
        }
        let daemon = try Daemon(["--models", cases.models.path])
        let result = try PythonClients.run("pipeline_things.py", [daemon.url] + Array(Set(pictures)).sorted())
        #expect(result.status == 0, "\(result.text)\(result.errors)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// Files of one name in several folders, of one stem, and of a name that another would get.
    private func replacesNoPicture(in folder: URL, picture: String, _ command: [String]) throws {
        let binary = Daemon.binary.path, more = folder.appendingPathComponent("more")
        var files: [String] = []
        for name in ["a/s.png", "a/s.jpg", "b/s.png", "a/s.png-2", "b/s.png.png"] {
            let file = more.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: picture, toPath: file.path)
            files.append(file.path)
        }
        let many = try Shell.run(binary, command + ["--draw", folder.path + "/many"] + files)
        let written = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/many").sorted()
        #expect(many.status == 0, "\(many.errors)")
        #expect(
            written == ["s.jpg", "s.png-2-2.png", "s.png-2.png", "s.png.png", "s.png.png.png"],
            "a file for each picture: \(written)")
        // A picture of the run that would be overwritten, whether it was read or not.
        let over = try Shell.run(binary, command + ["--draw", more.path + "/b", files[0], files[4]])
        #expect(over.status == 1 && over.errors.contains("s.png.png is one of the pictures"), "\(over.errors)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: files[4])) == Data(contentsOf: URL(fileURLWithPath: picture)))
    }

    @Test("`ocelli detect` with a pipeline writes JSON, JSONL, crops and covered pictures")
    func commandsTakePipelines() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-pipe-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let binary = Daemon.binary.path, picture = Self.pictures.appendingPathComponent("scene.png").path
        let check = try Shell.run(binary, ["check", Self.fixtures + "/looks"])
        #expect(
            check.status == 0 && check.text.contains("stage \"color\": classify by colors"),
            "\(check.text)\(check.errors)")
        #expect(!check.text.contains("confirmed"), "its models are compared, not the pipeline: \(check.text)")
        let models = ["--models", Self.fixtures, "--model", "looks"]
        let answer = try Shell.run(binary, ["detect"] + models + ["--json", "--crops", folder.path + "/cut", picture])
        #expect(answer.status == 0 && answer.text.contains("\"color\":{\"classifications\""), "\(answer.errors)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path + "/cut").contains("scene.png-0-even.png"))
        // For people: each find, and below it the answers of its stages.
        let text = try Shell.run(binary, ["detect"] + models + [picture])
        let rows = text.text.split(separator: "\n").map(String.init)
        let found = try #require(answer.json["detections"] as? [[String: Any]])
        let color = try #require((found[0]["color"] as? [String: Any])?["classifications"] as? [[String: Any]])
        let share = String(format: "%.1f%%", 100 * (color[0]["confidence"] as? Double ?? 0))
        #expect(rows[0].hasSuffix("  looks version 1"), "\(text.text)\(text.errors)")
        #expect(rows.contains { $0.contains("color: \(color[0]["label"] as? String ?? "") \(share)") }, "\(text.text)")
        #expect(
            rows.count { $0.hasPrefix("           color: ") } == found.count { $0["color"] != nil }, "\(text.text)")
        let skipped = try #require(answer.json["skipped"] as? Int)
        #expect(rows.last?.hasPrefix("  (\(skipped) without the stages: ") == true, "\(text.text)")
        let source = folder.appendingPathComponent("in")
        try FileManager.default.createDirectory(at: source, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: picture, toPath: source.path + "/scene.png")
        let lines = try Shell.run(binary, ["detect"] + models + ["--jsonl", source.path])
        #expect(lines.status == 0 && lines.text.contains("\"color\":"), "\(lines.errors)")
        let covered = try Shell.run(
            binary, ["detect"] + models + ["--blur", "even", "--draw", folder.path + "/out", picture])
        #expect(covered.status == 0, "\(covered.errors)")
        #expect(FileManager.default.fileExists(atPath: folder.path + "/out/scene.png.png"))
        try replacesNoPicture(in: folder, picture: picture, ["detect"] + models + ["--blur", "even"])
        for (flags, words) in [
            (["--blur", "even"], "--draw DIR"),
            (["--blur", "nobody", "--draw", folder.path + "/no"], "--blur: expected one of \"even\", \"odd\""),
            (["--fill", "nobody", "--draw", folder.path + "/no"], "--fill: expected"),
            (["--jsonl", "--crops", folder.path + "/no"], "do not go with --jsonl"),
        ] {
            let refused = try Shell.run(binary, ["detect"] + models + flags + [picture])
            #expect(refused.status != 0 && refused.errors.contains(words), "\(flags): \(refused.errors)")
        }
        let broken = folder.appendingPathComponent("broken")
        try FileManager.default.createDirectory(at: broken, withIntermediateDirectories: true)
        try """
        {"name": "broken", "id": "broken", "version": "1",
         "pipeline": {"model": "nobody", "each": [{"as": "box", "model": "neither", "task": "guess"}]}}
        """.write(to: broken.appendingPathComponent("model.json"), atomically: true, encoding: .utf8)
        let problems = try Shell.run(binary, ["check", broken.path])
        #expect(problems.status == 1)
        for path in ["pipeline.each[0].as: ", "pipeline.each[0].task: "] {
            #expect(problems.errors.contains(path), "\(problems.errors)\(problems.text)")
        }
    }
}
