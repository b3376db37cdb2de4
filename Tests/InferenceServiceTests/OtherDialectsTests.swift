internal import Dialects
import Foundation
import HTTPServer
import InferenceService
internal import ServiceCore
import Settings
internal import SystemSupport
import TestSupport
import Testing

/// `/invocations`, Vertex AI's routes and `/v1/vision`, answered by real models without a socket.
@Suite(.timeLimit(.minutes(3))) struct OtherDialectsTests {
    private typealias World = OpenInferenceHandlersTests.World
    private typealias Reply = OpenInferenceHandlersTests.Reply

    private static let seven = try? Data(
        contentsOf: SharedData.packageRoot.appendingPathComponent("examples/seven.png"))

    private static func world(_ change: (inout Settings) -> Void = { _ in }) async throws -> World {
        try await World(
            { settings in
                settings.dialects = Dialect.allCases
                change(&settings)
            },
            models: { folder in
                try FileManager.default.copyItem(
                    at: SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/observations/ssd_few"),
                    to: folder.appendingPathComponent("ssd_few"))
            })
    }

    private static func form(_ parts: [(name: String, file: Bool, content: Data)]) -> (body: [UInt8], field: String) {
        var body = Data()
        for part in parts {
            let file = part.file ? "; filename=\"\(part.name)\"" : ""
            body += Data("--b0\r\nContent-Disposition: form-data; name=\"\(part.name)\"\(file)\r\n\r\n".utf8)
            body += part.content + Data("\r\n".utf8)
        }
        return (Array(body + Data("--b0--\r\n".utf8)), "\nContent-Type: multipart/form-data; boundary=b0")
    }

    private static func vision(
        _ world: World, _ path: String, _ fields: [String: String] = [:], pictures: Int = 1
    ) async throws -> Reply {
        let picture = try #require(seven)
        let form = form(
            fields.map { ($0.key, false, Data($0.value.utf8)) }
                + Array(repeating: ("image", true, picture), count: pictures))
        return try await world.answer("POST /v1/vision/\(path)", form.body, fields: form.field)
    }

    // MARK: DeepStack

    @Test(
        "DeepStack detection gives the boxes of /v1/detect in whole pixels and obeys min_confidence",
        arguments: ["detection", "custom/ssd_few"])
    func boxesAreWholePixels(_ path: String) async throws {
        let world = try await Self.world()
        let picture = try #require(Self.seven)
        // The expected boxes come from Ocelli's own route with the same threshold.
        let own = try await world.answer("POST /v1/detect?threshold=0.4", Array(picture)).json
        let boxes = try #require(own["detections"] as? [[String: Any]])
        #expect(!boxes.isEmpty)
        let reply = try await Self.vision(world, path, ["api_key": "", "api": "x"])
        #expect(reply.status == 200 && reply.json["success"] as? Bool == true, "\(reply.text)")
        let found = try #require(reply.json["predictions"] as? [[String: Any]])
        #expect(found.count == boxes.count && reply.json["count"] as? Int == boxes.count)
        for (one, other) in zip(found, boxes) {
            let box = try #require(other["box"] as? [String: Double])
            #expect(one["label"] as? String == other["label"] as? String)
            #expect(one["confidence"] as? Double == other["confidence"] as? Double)
            for (name, place) in [
                ("x_min", box["x"] ?? -1), ("y_min", box["y"] ?? -1), ("x_max", (box["x"] ?? 0) + (box["width"] ?? 0)),
                ("y_max", (box["y"] ?? 0) + (box["height"] ?? 0)),
            ] {
                let pixel = try #require(one[name] as? Int, "\(name) is a whole number: \(one)")
                #expect(abs(Double(pixel) - place) <= 0.502, "\(name)")
            }
        }
        for name in ["inferenceMs", "processMs", "analysisRoundTripMs"] { #expect(reply.json[name] is Int, "\(name)") }
        // A client may set the threshold.
        let all = try await Self.vision(world, path, ["min_confidence": "0"]).json["predictions"] as? [Any]
        let none = try await Self.vision(world, path, ["min_confidence": "1"])
        #expect((all?.count ?? 0) >= boxes.count && (none.json["predictions"] as? [Any])?.isEmpty == true)
        #expect(none.json["success"] as? Bool == true)
    }

    @Test("DeepStack scene recognition answers with the classifier's best class")
    func theSceneIsTheBestClass() async throws {
        let reply = try await Self.vision(try await Self.world(), "scene")
        #expect(reply.json["success"] as? Bool == true && reply.json["label"] as? String == "7", "\(reply.text)")
        #expect((reply.json["confidence"] as? Double ?? 0) > 0.5)
    }

    @Test("DeepStack face detection uses the model face or deepstack_face, and is 404 without them")
    func faces_areOfTheModelOfThatName() async throws {
        let world = try await Self.world()
        let none = try await Self.vision(world, "face")
        #expect(
            none.status == 404 && none.json["code"] as? String == "model_not_found"
                && none.error.contains("deepstack_face"))
        for name in ["face", "deepstack_face"] {
            let world = try await World(
                { $0.dialects = [.deepStack] },
                models: { folder in
                    try FileManager.default.copyItem(
                        at: SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/observations/ssd_few"),
                        to: folder.appendingPathComponent(name))
                })
            let reply = try await Self.vision(world, "face")
            #expect(reply.json["success"] as? Bool == true && reply.json["model"] as? String == name, "\(reply.text)")
        }
    }

    @Test(
        "DeepStack errors have success false, a code and a request identifier",
        arguments: [
            ("detection", ["min_confidence": "2"], 400, "min_confidence"),
            ("detection", ["min_confidence": "x"], 400, "0 to 1"),
            ("custom/nothing", [:], 404, "nothing"), ("custom/digits", [:], 400, "does not give"),
        ] as [(String, [String: String], Int, String)])
    func errorsHaveWhatClientsLookFor(_ path: String, _ fields: [String: String], _ status: Int, _ words: String)
        async throws
    {
        let reply = try await Self.vision(try await Self.world(), path, fields)
        #expect(reply.status == status && reply.error.contains(words), "\(reply.text)")
        #expect(
            reply.json["success"] as? Bool == false && reply.json["code"] is String && reply.json["request_id"] != nil)
    }

    @Test("a DeepStack request without exactly one readable picture is refused")
    func oneRequestHasOnePicture() async throws {
        let world = try await Self.world()
        let two = try await Self.vision(world, "detection", pictures: 2)
        #expect(two.status == 400 && two.error.contains("one picture") && two.json["success"] as? Bool == false)
        let none = try await Self.vision(world, "detection", pictures: 0)
        #expect(none.status == 400 && none.error.contains("no picture"), "\(none.text)")
        let broken = Self.form([("image", true, Data("no picture".utf8))])
        let reply = try await world.answer("POST /v1/vision/detection", broken.body, fields: broken.field)
        #expect(reply.status == 415 && reply.json["success"] as? Bool == false)
    }

    @Test("DeepStack's model list and status routes answer with success")
    func listAndStatus() async throws {
        let world = try await Self.world()
        for line in ["GET /v1/vision/custom/list", "POST /v1/vision/custom/list"] {
            let json = try await world.answer(line).json
            #expect(json["success"] as? Bool == true && json["models"] as? [String] == ["ssd_few"], "\(json)")
        }
        for path in ["/v1/status/ping", "/v1/server/status/ping", "/v1/status/updateavailable"] {
            #expect(try await world.answer("GET \(path)").json["success"] as? Bool == true)
        }
        // Ocelli's own errors have no member of the dialect.
        #expect(try await world.answer("GET /v1/models/nothing").json["success"] == nil)
    }

    // MARK: SageMaker

    @Test("/invocations takes tensors, pictures and forms, and the model of the SageMaker attributes")
    func invocations_areTensorsOrPictures() async throws {
        let world = try await Self.world { $0.defaultModel = "rows" }
        let json = "\nContent-Type: application/json"
        for (body, expected) in [
            (#"{"instances": [[1, 2, 3]]}"#, #"{"predictions":[[1.0,2.0,3.0]]}"#),
            (#"{"inputs": [[1, 2, 3]]}"#, #"{"outputs":[[1.0,2.0,3.0]]}"#),
            (#"[[1, 2, 3], [4, 5, 6]]"#, #"{"predictions":[[1.0,2.0,3.0],[4.0,5.0,6.0]]}"#),
        ] {
            let reply = try await world.answer("POST /invocations", Array(body.utf8), fields: json)
            #expect(reply.status == 200 && reply.text == expected, "\(reply.text)")
        }
        // The model is chosen by the container's attributes, the task for a picture by the model.
        let attributes = "\nX-Amzn-SageMaker-Custom-Attributes: "
        let picture = Array(try #require(Self.seven))
        let labels = try await world.answer(
            "POST /invocations", picture,
            fields: "\nContent-Type: image/png" + attributes + "tfs-model-name=digits,tfs-method=predict")
        #expect(
            (labels.json["classifications"] as? [[String: Any]])?.first?["label"] as? String == "7", "\(labels.text)")
        let boxes = try await world.answer(
            "POST /invocations", picture,
            fields: "\nContent-Type: application/x-image" + attributes + "tfs-model-name=ssd_few")
        #expect(boxes.json["detections"] != nil, "\(boxes.text)")
        let form = Self.form([("image", true, Data(picture))])
        let formed = try await world.answer(
            "POST /invocations", form.body, fields: form.field + attributes + "trace=1, tfs-model-name=digits")
        #expect(formed.json["classifications"] != nil, "\(formed.text)")
        for (fields, status, words) in [
            (attributes + "tfs-model-name=nothing", 404, "nothing"), (attributes + "tfs-model-version=9", 404, "9"),
            (attributes + "tfs-method=classify", 400, "tfs-method"), ("\nContent-Type: text/csv", 415, "text/csv"),
            ("\nContent-Type: application/x-npy", 415, "application/json"),
        ] {
            let reply = try await world.answer("POST /invocations", Array("[[1,2,3]]".utf8), fields: fields)
            #expect(reply.status == status && reply.error.contains(words), "\(fields): \(reply.text)")
        }
    }

    @Test("/invocations without a default model sends a picture to the first classifier")
    func withoutADefault_theFirstClassifierIsMeant() async throws {
        let world = try await Self.world()
        let reply = try await world.answer(
            "POST /invocations", Array(try #require(Self.seven)), fields: "\nContent-Type: image/png")
        #expect(reply.json["model"] as? String == "digits", "\(reply.text)")
    }

    @Test("/ping is 200 while the server is ready and 503 while the server drains")
    func pingIsReadiness() async throws {
        let world = try await Self.world()
        #expect(try await world.answer("GET /ping").status == 200)
        world.service.beginDraining()
        #expect(try await world.answer("GET /ping").status == 503)
    }

    // MARK: Vertex AI

    private static func vertex(_ environment: [String: String], _ dialects: [Dialect] = [.vertex]) throws
        -> VertexRoutes
    {
        var settings = Settings()
        settings.dialects = dialects
        return try VertexRoutes(settings, environment: environment)
    }

    @Test("Vertex AI's route variables are read, and malformed or equal paths are refused")
    func itsVariablesAreRead() throws {
        let given = ["AIP_HEALTH_ROUTE": "/health", "AIP_PREDICT_ROUTE": "/v1/endpoints/7/deployedModels/8:predict"]
        let routes = try Self.vertex(given)
        #expect(routes.health == "/health" && routes.predict == "/v1/endpoints/7/deployedModels/8:predict")
        #expect(try Self.vertex(given, []) == .none && Self.vertex([:]) == .none)
        #expect(try Self.vertex(["AIP_HEALTH_ROUTE": ""]) == .none)
        for path in ["health", "/a b", "/a?b", "/%61", "/é", "/#", "/" + String(repeating: "a", count: 1024)] {
            #expect(throws: CommandError.self) { try Self.vertex(["AIP_PREDICT_ROUTE": path]) }
        }
        #expect(throws: CommandError.self) { try Self.vertex(["AIP_HEALTH_ROUTE": "/a", "AIP_PREDICT_ROUTE": "/a"]) }
    }

    @Test("Vertex AI's routes answer on their paths, and never replace a path of Ocelli")
    func itsRoutesAnswer() async throws {
        let world = try await Self.world { $0.defaultModel = "rows" }
        func answer(_ routes: [String: String], _ line: String, _ body: String = "", _ dialects: [Dialect] = [.vertex])
            async throws -> Reply
        {
            var settings = Settings()
            settings.dialects = dialects
            settings.defaultModel = "rows"
            let service = Service(
                repository: world.repository, settings: LiveSettings(settings: settings, access: .open),
                vertex: try VertexRoutes(settings, environment: routes), metrics: world.metrics,
                log: try Log(level: .error, format: .text, descriptor: 2))
            return try await world.answer(line, Array(body.utf8), by: service)
        }
        let routes = ["AIP_HEALTH_ROUTE": "/health", "AIP_PREDICT_ROUTE": "/predict"]
        let rows = #"{"instances": [[1, 2, 3]], "parameters": {"a": 1}}"#
        #expect(try await answer(routes, "GET /health").status == 200)
        #expect(try await answer(routes, "POST /predict", rows).text == #"{"predictions":[[1.0,2.0,3.0]]}"#)
        #expect(try await answer(routes, "GET /predict").status == 405)
        #expect(try await answer(routes, "POST /predict", rows, []).status == 404)
        // Paths of disabled dialects are free; Ocelli's own paths keep their meaning.
        let ping = ["AIP_HEALTH_ROUTE": "/ping", "AIP_PREDICT_ROUTE": "/v1/models"]
        #expect(try await answer(ping, "GET /ping").status == 200)
        #expect(try await answer(ping, "POST /v1/models", rows).status == 405)
        #expect(try await answer(ping, "GET /v1/models").json["models"] != nil)
    }
}
