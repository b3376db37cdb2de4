import Dialects
import Foundation
import Inference
internal import ServiceCore
import Settings
import SystemSupport
import TestSupport
import Testing

/// Label Studio's routes, answered by real models without a socket.
@Suite(.timeLimit(.minutes(3))) struct LabelStudioTests {
    private typealias World = OpenInferenceHandlersTests.World
    private typealias Reply = OpenInferenceHandlersTests.Reply

    private static let examples = SharedData.packageRoot.appendingPathComponent("examples")
    private static let digits = (0...9).map { "<Choice value=\"\($0)\"/>" }.joined()
    private static let boxes =
        "<RectangleLabels name=\"boxes\" toName=\"image\">"
        + "<Label value=\"thing\" predicted_values=\"class 0,class 1,class 2,class 3\"/></RectangleLabels>"

    private static func world(_ change: (inout Settings) -> Void = { _ in }) async throws -> World {
        try await World(
            { settings in
                settings.dialects = [.labelStudio]
                settings.repositoryControl = .all
                settings.labelStudioFiles = examples.path
                change(&settings)
            },
            models: { folder in
                try FileManager.default.copyItem(
                    at: SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/observations/ssd_few"),
                    to: folder.appendingPathComponent("ssd_few"))
            })
    }

    private static func config(_ tags: String) -> String {
        "<View><Image name=\"image\" value=\"$image\"/>\(tags)</View>"
    }

    private static func dataURI(_ name: String) throws -> String {
        let picture = try Data(contentsOf: examples.appendingPathComponent(name))
        return "data:image/png;base64," + picture.base64EncodedString()
    }

    private static func predict(_ world: World, _ config: String, _ images: [String]) async throws -> Reply {
        let tasks = images.enumerated().map { ["id": $0, "data": ["image": $1], "annotations": []] as [String: Any] }
        let body: [String: Any] = [
            "tasks": tasks, "project": "1.1760000000", "label_config": config,
            "params": ["login": NSNull(), "password": NSNull(), "context": NSNull()],
        ]
        return try await world.answer("POST /predict", Array(try JSONSerialization.data(withJSONObject: body)))
    }

    /// The results of each task.
    private static func results(_ reply: Reply) throws -> [[String: Any]] {
        #expect(reply.status == 200, "\(reply.text)")
        return try #require(reply.json["results"] as? [[String: Any]], "\(reply.text)")
    }

    private static func result(_ task: [String: Any]) -> [[String: Any]] { task["result"] as? [[String: Any]] ?? [] }

    // MARK: Predictions

    @Test("choices have the best label of the config, for data: URIs and local files in the order of the tasks")
    func choicesAreTheBestLabels() async throws {
        let world = try await Self.world()
        let config = Self.config(
            "<Choices name=\"digit\" toName=\"image\"><Choice value=\"seven\" predicted_values=\"7\"/>\(Self.digits)</Choices>"
        )
        let images = [
            try Self.dataURI("three.png"), "/data/local-files/?d=seven.png",
            "http://localhost:8080/data/local-files/?d=three%2Epng",
        ]
        let tasks = try Self.results(try await Self.predict(world, config, images))
        #expect(tasks.count == 3)
        for (task, (name, choice)) in zip(tasks, [("three.png", "3"), ("seven.png", "seven"), ("three.png", "3")]) {
            let picture = try Data(contentsOf: Self.examples.appendingPathComponent(name))
            // The expected confidence comes from Ocelli's own route.
            let own = try await world.answer("POST /v1/models/digits/classify", Array(picture)).json
            let confidence = (own["classifications"] as? [[String: Any]])?.first?["confidence"] as? Double
            let one = try #require(Self.result(task).first)
            #expect(one["from_name"] as? String == "digit" && one["to_name"] as? String == "image")
            #expect(one["type"] as? String == "choices")
            #expect((one["value"] as? [String: Any])?["choices"] as? [String] == [choice])
            #expect(one["score"] as? Double == confidence && task["score"] as? Double == confidence)
            #expect(task["model_version"] as? String == "digits 1")
        }
    }

    @Test("labels that the config does not have are left out, and the best of the others is chosen")
    func otherLabelsAreLeftOut() async throws {
        let world = try await Self.world()
        let config = Self.config(
            "<Choices name=\"digit\" toName=\"image\" model_path=\"digits\"><Choice value=\"1\"/><Choice value=\"x\"/></Choices>"
        )
        let tasks = try Self.results(try await Self.predict(world, config, [try Self.dataURI("seven.png")]))
        let value = Self.result(try #require(tasks.first)).first?["value"] as? [String: Any]
        #expect(value?["choices"] as? [String] == ["1"])
        let none = Self.config("<Choices name=\"digit\" toName=\"image\"><Choice value=\"x\"/></Choices>")
        let empty = try Self.results(try await Self.predict(world, none, [try Self.dataURI("seven.png")]))
        #expect(Self.result(empty[0]).isEmpty && empty[0]["score"] as? Double == 0 && empty[0]["error"] == nil)
    }

    @Test("rectangles are those of /detect in percent of the picture, beside the results of other control tags")
    func rectanglesAreInPercent() async throws {
        let world = try await Self.world()
        let config = Self.config(
            Self.boxes + "<Choices name=\"digit\" toName=\"image\">\(Self.digits)</Choices>"
                + "<TextArea name=\"remark\" toName=\"image\"/>")
        let tasks = try Self.results(try await Self.predict(world, config, [try Self.dataURI("seven.png")]))
        let task = try #require(tasks.first)
        #expect(task["model_version"] as? String == "ssd_few 1, digits 1")
        let picture = try Data(contentsOf: Self.examples.appendingPathComponent("seven.png"))
        let own = try await world.answer("POST /v1/models/ssd_few/detect", Array(picture)).json
        let size = try #require((own["image"] as? [String: Any])?["displayed"] as? [String: Double])
        let width = try #require(size["width"]), height = try #require(size["height"])
        let expected = try #require(own["detections"] as? [[String: Any]])
        let found = Self.result(task).filter { $0["type"] as? String == "rectanglelabels" }
        #expect(found.count == expected.count && !found.isEmpty)
        #expect(Set(found.compactMap { $0["id"] as? String }).count == found.count)
        for (one, other) in zip(found, expected) {
            let box = try #require(other["box"] as? [String: Double])
            let value = try #require(one["value"] as? [String: Any])
            // Answers of /detect have thousandths of a pixel.
            for (name, side) in [("x", width), ("y", height), ("width", width), ("height", height)] {
                let percent = try #require(value[name] as? Double)
                #expect(abs(percent * side / 100 - (box[name] ?? .nan)) < 0.0021, "\(one) \(other)")
            }
            #expect(value["rotation"] as? Double == 0 && value["rectanglelabels"] as? [String] == ["thing"])
            #expect(one["original_width"] as? Double == width && one["original_height"] as? Double == height)
            #expect(one["image_rotation"] as? Int == 0 && one["score"] as? Double == other["confidence"] as? Double)
        }
        #expect(Self.result(task).count { $0["type"] as? String == "choices" } == 1)
        #expect(Self.result(task).allSatisfy { $0["from_name"] as? String != "remark" })
    }

    @Test("a task whose picture cannot be had gets an empty result with the reason; the others are answered")
    func unusablePicturesAreEmpty() async throws {
        let world = try await Self.world { $0.maxBatch = 20 }
        let config = Self.config("<Choices name=\"digit\" toName=\"image\">\(Self.digits)</Choices>")
        let bad = [
            "http://127.0.0.1:9/a.png", "https://example.com/data/local-files2/?d=seven.png", "s3://bucket/a.png",
            "/data/upload/1/seven.png", "seven.png", "", "data:image/png;base64,@@@@", "data:image/png,abc",
            "data:image/png;base64,AAAA", "/data/local-files/?d=nosuch.png", "/data/local-files/?d=",
            "/data/local-files/?d=..%2FLICENSE", "/data/local-files/?d=../examples/seven.png%00",
            "file:///etc/passwd",
            "/data/local-files/?d=coreml",
        ]
        let tasks = try Self.results(
            try await Self.predict(world, config, bad + ["/data/local-files/?d=..%2Fexamples%2Fseven.png"]))
        #expect(tasks.count == bad.count + 1)
        for (task, image) in zip(tasks, bad) {
            #expect(Self.result(task).isEmpty && task["result"] != nil && task["score"] as? Double == 0, "\(image)")
            #expect((task["error"] as? String)?.isEmpty == false && task["code"] is String, "\(image): \(task)")
            #expect(task["model_version"] as? String == "digits 1")
        }
        // `..` that stays in the folder is no escape.
        #expect(Self.result(try #require(tasks.last)).count == 1)
        let off = try await Self.world { $0.labelStudioFiles = "" }
        let none = try Self.results(try await Self.predict(off, config, ["/data/local-files/?d=seven.png"]))
        #expect(Self.result(none[0]).isEmpty && (none[0]["error"] as? String)?.contains("labelstudio_files") == true)
    }

    @Test("bodies that are not Label Studio's are refused with the reason")
    func hostileBodiesAreRefused() async throws {
        let world = try await Self.world()
        func answer(_ body: String) async throws -> Reply {
            try await world.answer("POST /predict", Array(body.utf8))
        }
        for body in ["", "[]", "{", "1", "{\"tasks\": []}", "{\"tasks\": [1], \"label_config\": \"<View/>\"}"] {
            #expect(try await answer(body).status == 400, "\(body)")
        }
        let bomb = "<!DOCTYPE a [<!ENTITY b \"c\">]>" + Self.config("<Choices name=\"a\" toName=\"image\"/>")
        let refused = try await Self.predict(world, bomb, [])
        #expect(refused.status == 400 && refused.error.contains("document type"), "\(refused.text)")
        #expect(try await Self.predict(world, "<View/>", []).status == 400)
        let choices = Self.config("<Choices name=\"a\" toName=\"image\">\(Self.digits)</Choices>")
        let many = try await Self.predict(world, choices, Array(repeating: "x", count: 5))
        #expect(many.status == 400 && many.error.contains("max_batch"), "\(many.text)")
        let empty = try await Self.predict(world, choices, [])
        #expect(try Self.results(empty).isEmpty)
        let absent = Self.config("<Choices name=\"a\" toName=\"image\" model_path=\"nosuch\"/>")
        #expect(try await Self.predict(world, absent, ["x"]).status == 404)
        let wrong = Self.config("<Choices name=\"a\" toName=\"image\" model_path=\"ssd_few\"/>")
        #expect(try await Self.predict(world, wrong, [try Self.dataURI("seven.png")]).status == 400)
        let reader = Self.config("<TextArea name=\"a\" toName=\"image\"/>")
        #expect(try await Self.predict(world, reader, ["x"]).status == 404)
    }

    // MARK: Other routes

    @Test("/setup names the version of the config's models, /versions all of them, /health that it is up")
    func versionsAreNamed() async throws {
        let world = try await Self.world()
        func setup(_ config: String) async throws -> Reply {
            let body: [String: Any] = [
                "project": "1.1", "schema": config, "hostname": "http://localhost:8080", "access_token": "secret",
                "extra_params": NSNull(),
            ]
            return try await world.answer("POST /setup", Array(try JSONSerialization.data(withJSONObject: body)))
        }
        let both = Self.config(
            Self.boxes + "<Choices name=\"a\" toName=\"image\"/><TextArea name=\"b\" toName=\"image\"/>")
        #expect(try await setup(both).json["model_version"] as? String == "ssd_few 1, digits 1")
        #expect(try await setup("<View></View>").status == 200)
        #expect(try await setup(Self.config("<TextArea name=\"b\" toName=\"image\"/>")).status == 404)
        let absent = Self.config("<Choices name=\"a\" toName=\"image\" model_path=\"nosuch\"/>")
        let refused = try await setup(absent)
        #expect(refused.status == 404 && !refused.text.contains("secret"))
        let versions = try await world.answer("GET /versions").json["versions"] as? [String]
        #expect(versions == ["bare 1", "digits 1", "rows 1", "ssd_few 1"])
        let health = try await world.answer("GET /health")
        #expect(health.json["status"] as? String == "UP" && health.json["model_class"] as? String == "ocelli")
        let off = try await Self.world { $0.dialects = [] }
        #expect(try await off.answer("GET /health").status == 404)
        #expect(try await world.answer("POST /webhook", Array("{\"action\": \"TASKS_CREATED\"}".utf8)).status == 404)
    }

    @Test("Vertex AI's variables must not name paths of Label Studio's interface")
    func pathsOfBothAreRefused() throws {
        var settings = Settings()
        settings.dialects = [.vertex, .labelStudio]
        for (name, path) in [("AIP_HEALTH_ROUTE", "/health"), ("AIP_PREDICT_ROUTE", "/predict")] {
            #expect(throws: CommandError.self) { try VertexRoutes(settings, environment: [name: path]) }
            #expect(throws: Never.self) { try VertexRoutes(settings, environment: [name: path + "s"]) }
        }
        settings.dialects = [.vertex]
        #expect(throws: Never.self) { try VertexRoutes(settings, environment: ["AIP_HEALTH_ROUTE": "/health"]) }
    }

    // MARK: Files

    @Test("files are read in the folder only, and only regular ones of a limited size")
    func filesAreConfined() throws {
        let manager = FileManager.default
        let root = manager.temporaryDirectory.appendingPathComponent("ocelli-files-\(UUID().uuidString)")
        defer { try? manager.removeItem(at: root) }
        let folder = root.appendingPathComponent("pictures"), outside = root.appendingPathComponent("pictures2")
        for one in [folder.appendingPathComponent("sub"), outside] {
            try manager.createDirectory(at: one, withIntermediateDirectories: true)
        }
        try Data("inside".utf8).write(to: folder.appendingPathComponent("sub/a b.png"))
        try Data("secret".utf8).write(to: outside.appendingPathComponent("b.png"))
        try Data(count: 101).write(to: folder.appendingPathComponent("large.png"))
        for (link, target) in [
            ("in.png", "sub/a b.png"), ("out.png", "../pictures2/b.png"), ("far", "/"), ("loop", "loop"),
            ("device", "/dev/zero"),
        ] {
            try manager.createSymbolicLink(
                atPath: folder.appendingPathComponent(link).path, withDestinationPath: target)
        }
        #expect(mkfifo(folder.appendingPathComponent("pipe").path, 0o600) == 0)
        let files = LocalFiles(folder: folder.path, maximum: 100)
        func read(_ name: String) -> String {
            do throws(InferenceError) {
                return String(decoding: try files.read(name), as: UTF8.self)
            } catch {
                return error.message
            }
        }
        for name in ["sub/a b.png", "in.png", "/sub/a b.png", "sub/../in.png", "../pictures/in.png"] {
            #expect(read(name) == "inside", "\(name)")
        }
        let absence = read("nosuch")
        for name in [
            "out.png", "../pictures2/b.png", "far/etc/passwd", "loop", "device", "/etc/passwd",
            "../../../../etc/passwd",
            "in.png\0", String(repeating: "a/", count: 5_000),
        ] {
            #expect(read(name) == absence, "\(name.prefix(40))")
        }
        for name in ["pipe", "sub", "", "."] {
            #expect(read(name) != "inside" && !read(name).contains("secret"), "\(name)")
        }
        #expect(read("large.png").contains("max_body"))
        #expect(try files.read("in.png", limit: 3) == Array("ins".utf8))
        let noFolder = LocalFiles(folder: root.path + "/nosuch", maximum: 100),
            off = LocalFiles(folder: "", maximum: 100)
        #expect(throws: InferenceError.self) { try noFolder.read("a") }
        #expect(throws: InferenceError.self) { try off.read("a") }
    }
}
