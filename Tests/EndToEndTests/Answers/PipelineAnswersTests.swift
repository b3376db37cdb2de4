import Foundation
import TestSupport
import Testing

/// Further answers of pipelines by the real daemon: pictures, levels, tiles, batches, the command, the page, the
/// README.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized) struct PipelineAnswersTests {
    private static let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/pipelines")
    private static let pictures = SharedData.packageRoot.appendingPathComponent("Tests/ImagePipelineTests/Fixtures")

    private static func picture(_ name: String) -> String { pictures.appendingPathComponent(name).path }

    private static func temporaryFolder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-pipe-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    private func check(_ script: String, _ arguments: [String]) throws {
        let result = try PythonClients.run(script, arguments)
        #expect(result.status == 0, "\(result.text)\(result.errors)")
    }

    // MARK: Pictures as answers

    @Test(
        "pictures that a pipeline answers with are upright and covered, for each orientation",
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)))
    func pictures_areUprightAndCovered_forEveryOrientation() throws {
        let daemon = try Daemon(["--models", Self.fixtures.path])
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.pictures.path)
            .filter { $0.hasPrefix("orientation-") || $0 == "scene.png" }.sorted()
        #expect(names.count >= 17, "\(names)")
        try check("pipeline_pictures.py", [daemon.url] + names.map(Self.picture))
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// Deadlines from the decoder to the encoder, clients that disconnect, and one that sends slowly.
    @Test(
        "pipeline pictures past their deadline are errors, and leave no slot or memory taken",
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)))
    func latePictures_areErrors_andLeaveNothingTaken() throws {
        let daemon = try Daemon(["--models", Self.fixtures.path, "--body-grace", "500ms"])
        try check("pipeline_pictures.py", [daemon.url, "--deadlines"])
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test(
        "`ocelli detect` with a pipeline writes the pictures that the daemon answers with",
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)))
    func theCommandWritesWhatTheDaemonAnswers() throws {
        let daemon = try Daemon(["--models", Self.fixtures.path])
        try check(
            "pipeline_pictures.py",
            [daemon.url, "--commands", Daemon.binary.path, Self.fixtures.path]
                + ["orientation-5.jpg", "orientation-6.png", "scene.png"].map(Self.picture))
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    // MARK: Levels, tiles, classes, batches, the default

    @Test(
        "nested stages, tiles, classes and batches of a pipeline are as Pillow and numpy compute them",
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)))
    func levelsTilesClassesAndBatches_areThoseOfPillowAndNumpy() throws {
        let daemon = try Daemon(["--models", Self.fixtures.path, "--default-model", "deep"])
        try check("pipeline_levels.py", [daemon.url] + ["orientation-6.jpg", "scene.png"].map(Self.picture))
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("default_model may be a pipeline: /v1/detect answers with its stages, /v1/classify gets 400")
    func defaultModel_mayBeAPipeline() throws {
        let daemon = try Daemon(["--models", Self.fixtures.path, "--default-model", "looks"])
        let scene = Self.pictures.appendingPathComponent("scene.png")
        let answer = try Curl.post(scene, to: daemon.url + "/v1/detect")
        let found = answer.json["detections"] as? [[String: Any]] ?? []
        #expect(answer.status == 200 && answer.json["model"] as? String == "looks", "\(answer.text.prefix(300))")
        #expect(found.contains { ($0["color"] as? [String: Any])?["classifications"] != nil })
        let named = try Curl.post(scene, to: daemon.url + "/v1/models/looks/detect")
        #expect(named.json["detections"] as? NSArray == answer.json["detections"] as? NSArray)
        let covered = try Curl.post(scene, to: daemon.url + "/v1/detect?fill=even", ["-H", "Accept: image/png"])
        #expect(covered.status == 200 && covered.headers["content-type"] == "image/png")
        let other = try Curl.post(scene, to: daemon.url + "/v1/classify")
        #expect(other.status == 400 && other.error.contains("\"looks\""), "\(other.text)")
        #expect(try Curl.run(daemon.url + "/readyz").status == 200)
        #expect(daemon.stop() == 0, "\(daemon.log)")
        let command = try Shell.run(
            Daemon.binary.path,
            ["detect", "--models", Self.fixtures.path, "--default-model", "looks", "--json", scene.path],
            environment: ["XDG_CACHE_HOME": Daemon.cache.path])
        #expect(command.status == 0 && command.text.contains("\"color\":{\"classifications\""), "\(command.errors)")
    }

    // MARK: check

    /// Every mistake in addition to those of the models, with its place; the models' own bundles come from the
    /// fixtures.
    @Test(
        "`ocelli check` names each part of a pipeline that does not fit its models",
        arguments: [
            (
                #"{"model": "nobody", "each": [{"as": "a", "model": "neither", "task": "classify"}]}"#,
                ["pipeline.model: unknown model \"nobody\"", "pipeline.each[0].model: unknown model \"neither\""]
            ),
            (#"{"model": "wrong"}"#, ["pipeline.model: is the pipeline itself"]),
            (#"{"model": "looks"}"#, ["pipeline.model: \"looks\" is a pipeline itself"]),
            (#"{"model": "means"}"#, ["pipeline.model: \"means\" does not give boxes"]),
            (
                """
                {"model": "many", "classes": ["even", "nobody"], "each": [
                  {"as": "a", "model": "means", "task": "embed", "crop": {"align": "five_points"}},
                  {"as": "b", "model": "colors", "task": "embed", "crop": {"mask": true}},
                  {"as": "c", "model": "colors", "task": "classify", "top": 4, "classes": [2]}]}
                """,
                [
                    "pipeline.classes[1]: ",
                    "pipeline.each[0].crop.align: \"five_points\" needs finds with five points",
                    "pipeline.each[1].task: \"colors\" does not give an embedding",
                    "pipeline.each[1].crop.mask: needs finds with masks", "pipeline.each[2].top: expected 1 to 3",
                    "pipeline.each[2].classes[0]: ",
                ]
            ),
        ])
    func check_findsWhatDoesNotFitTheModels(_ pipeline: String, _ reasons: [String]) throws {
        let folder = try Self.temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["spots", "many", "colors", "means", "looks"] {
            try FileManager.default.copyItem(
                at: Self.fixtures.appendingPathComponent(name), to: folder.appendingPathComponent(name))
        }
        try Self.write("wrong", pipeline, into: folder)
        let result = try Shell.run(
            Daemon.binary.path, ["check", folder.path + "/wrong"],
            environment: ["XDG_CACHE_HOME": Daemon.cache.path])
        #expect(result.status == 1)
        for reason in reasons {
            #expect(result.errors.contains(reason), "\(reason): \(result.errors)\(result.text)")
        }
    }

    @Test(
        "`ocelli check` accepts a pipeline's bundle by any relative path",
        arguments: [".", "../looks/", "../../pipelines/looks"])
    func check_knowsABundleByAnyPath(_ path: String) throws {
        let result = try Shell.run(
            Daemon.binary.path, ["check", path], environment: ["XDG_CACHE_HOME": Daemon.cache.path],
            directory: Self.fixtures.appendingPathComponent("looks"))
        #expect(result.status == 0 && result.text.contains("stage \"color\""), "\(result.text)\(result.errors)")
    }

    // MARK: The page

    @Test(
        "the page lists the stages of a pipeline and draws their results",
        .enabled(if: PageTests.chromium != nil, "Chromium is not installed (apt install chromium)"))
    func thePageListsAndDrawsStages() throws {
        let folder = try Self.temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["spots", "colors", "means"] {
            try FileManager.default.copyItem(
                at: Self.fixtures.appendingPathComponent(name), to: folder.appendingPathComponent(name))
        }
        let stages = """
            , "each": [{"as": "color", "model": "colors", "task": "classify", "top": 1},
              {"as": "face", "model": "means", "task": "embed", "crop": {"align": "five_points"}},
              {"as": "parts", "model": "spots", "task": "detect", "threshold": 0.975}]
            """
        for (name, each) in [("bare", ""), ("seen", stages)] {
            try Self.write(name, "{\"model\": \"spots\", \"threshold\": 0.895\(each)}", into: folder)
        }
        let daemon = try Daemon(["--models", folder.path])
        let result = try Shell.run(
            SharedData.packageRoot.appendingPathComponent("Tests/Tools/browse-pipeline").path,
            [try #require(PageTests.chromium), daemon.url + "/", Self.picture("scene.png")])
        #expect(result.status == 0, "\(result.text)\(result.errors)\(daemon.log)")
        daemon.stop()
    }

    private static func write(_ name: String, _ pipeline: String, into folder: URL) throws {
        let bundle = folder.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        try "{\"name\": \"\(name)\", \"id\": \"\(name)\", \"version\": \"1\", \"pipeline\": \(pipeline)}"
            .write(to: bundle.appendingPathComponent("model.json"), atomically: true, encoding: .utf8)
    }

    // MARK: The document

    /// The commands of docs/pipelines.md, unchanged, with a face detector and a classifier under the names in the
    /// document.
    @Test(
        "the commands of docs/pipelines.md run, and their covered pictures are the daemon's own",
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
    func theCommandsOfTheDocumentRun() throws {
        let document = try String(
            contentsOf: SharedData.packageRoot.appendingPathComponent("docs/pipelines.md"), encoding: .utf8)
        let section = try #require(document.components(separatedBy: "## Find, then look closer\n").last)
        let lines = section.components(separatedBy: "```\n")[1].split(separator: "\n").map(String.init)
        try #require(lines.count == 8 && lines[1] == "cat > models/people/model.json <<'END'", "\(lines)")
        let cases = try ObservationCases(only: ["ultraface"]), work = try Self.temporaryFolder()
        defer {
            cases.remove()
            try? FileManager.default.removeItem(at: work)
        }
        let models = work.appendingPathComponent("models"), photos = work.appendingPathComponent("photos")
        for folder in [models.appendingPathComponent("people"), photos] {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        try lines[2].write(
            to: models.appendingPathComponent("people/model.json"), atomically: true, encoding: .utf8)
        try FileManager.default.moveItem(
            at: cases.models.appendingPathComponent("ultraface"), to: models.appendingPathComponent("faces"))
        try FileManager.default.copyItem(
            at: try #require(SharedData.folder).appendingPathComponent("models/mobilenet_v1_0.25_224_float"),
            to: models.appendingPathComponent("age_net"))
        let faces = try cases.case("ultraface").pictures.filter { $0.name.hasSuffix(".jpg") && !$0.must.isEmpty }
        try #require(faces.count >= 2)
        for face in faces {
            let name = String(face.name.split(separator: "/").last ?? "")
            try FileManager.default.copyItem(
                atPath: try cases.case("ultraface").path(face.name), toPath: photos.path + "/" + name)
        }
        let street = work.appendingPathComponent("street.jpg")
        try FileManager.default.copyItem(
            atPath: try cases.case("ultraface").path(faces[0].name), toPath: street.path)
        let daemon = try Daemon(["--models", models.path])
        func run(_ line: String) throws -> Shell.Result {
            let port = daemon.url.split(separator: ":").last ?? ""
            let path = Daemon.binary.deletingLastPathComponent().path + ":"
            return try Shell.run(
                "bash",
                ["-c", line.replacingOccurrences(of: "localhost:8080", with: "127.0.0.1:\(port)")],
                environment: [
                    "PATH": path + (ProcessInfo.processInfo.environment["PATH"] ?? ""),
                    "XDG_CACHE_HOME": Daemon.cache.path,
                ], directory: work)
        }
        let found = try run(lines[5])
        let detections = found.json["detections"] as? [[String: Any]] ?? []
        #expect(
            found.status == 0 && detections.count == faces[0].must.count, "\(found.text.prefix(300))\(found.errors)")
        for one in detections {
            #expect(one["label"] as? String == "face")
            #expect(((one["age"] as? [String: Any])?["classifications"] as? [Any])?.isEmpty == false, "\(one)")
        }
        let covered = try run(lines[6]), folder = try run(lines[7])
        #expect(covered.status == 0 && folder.status == 0, "\(covered.errors)\(folder.errors)")
        let answer = try Data(contentsOf: work.appendingPathComponent("covered.jpg"))
        #expect(try answer.starts(with: [0xFF, 0xD8, 0xFF]) && answer != Data(contentsOf: street))
        let names = try FileManager.default.contentsOfDirectory(atPath: photos.path).sorted()
        let blurred = work.appendingPathComponent("blurred")
        #expect(try FileManager.default.contentsOfDirectory(atPath: blurred.path).sorted() == names)
        for name in names {
            // The daemon's own answer, byte for byte.
            let same = try Curl.post(
                photos.appendingPathComponent(name), to: daemon.url + "/v1/models/people/detect?blur=face",
                ["-H", "Accept: image/jpeg"])
            #expect(try same.body == Data(contentsOf: blurred.appendingPathComponent(name)), "\(name)")
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }
}
