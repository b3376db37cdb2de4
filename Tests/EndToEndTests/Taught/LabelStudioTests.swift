import Foundation
import TestSupport
import Testing

/// Label Studio's routes with the real binary: annotations teach, and deleted ones are forgotten.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct LabelStudioTests {
    private static let labels = ["Across", "Down", "Other"]

    private static func config(_ model: String = "parts") -> String {
        let choices = labels.map { "<Choice value=\"\($0)\" predicted_values=\"\($0.lowercased())\"/>" }.joined()
        return "<View><Image name=\"image\" value=\"$photo\"/>"
            + "<Choices name=\"kind\" toName=\"image\" model_path=\"\(model)\">\(choices)</Choices></View>"
    }

    private static func uri(_ picture: Data) -> String { "data:image/png;base64," + picture.base64EncodedString() }

    private static func ask(
        _ server: TaughtDaemon, _ path: String, _ body: [String: Any], _ arguments: [String] = []
    ) throws -> Answer {
        try Curl.run(
            server.url + path, ["-H", "Content-Type: application/json", "--data-binary", "@-"] + arguments,
            input: try JSONSerialization.data(withJSONObject: body))
    }

    /// An event of an annotation as Label Studio 1.23 sends it.
    private static func annotate(
        _ server: TaughtDaemon, _ id: Int, _ choices: [String], _ image: String, action: String = "ANNOTATION_CREATED",
        skipped: Bool = false, config: String = config(), _ arguments: [String] = []
    ) throws -> Answer {
        let result: [String: Any] = [
            "id": "x", "from_name": "kind", "to_name": "image", "type": "choices", "origin": "manual",
            "value": ["choices": choices],
        ]
        return try ask(
            server, "/webhook",
            [
                "action": action,
                "annotation": [
                    "id": id, "completed_by": 1, "was_cancelled": skipped, "task": 1000 + id, "project": 1,
                    "result": [result],
                ],
                "task": ["id": 1000 + id, "project": 1, "data": ["photo": image]],
                "project": ["id": 1, "title": "kinds", "label_config": config],
            ], arguments)
    }

    private static func delete(_ server: TaughtDaemon, _ ids: [Int], config: String = config()) throws -> Int? {
        let answer = try ask(
            server, "/webhook",
            [
                "action": "ANNOTATIONS_DELETED", "annotations": ids.map { ["id": $0] },
                "project": ["id": 1, "label_config": config],
            ])
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json["forgotten"] as? Int
    }

    /// The number of examples of each class.
    private static func classes(_ server: TaughtDaemon, _ name: String = "parts") throws -> [String: Int] {
        let classes = try server.get("/v1/taught/\(name)").json["classes"] as? [[String: Any]] ?? []
        return Dictionary(
            classes.map { ($0["label"] as? String ?? "", $0["examples"] as? Int ?? -1) }, uniquingKeysWith: +)
    }

    private static func picture(_ kind: Int, _ number: Int) -> String {
        uri(TaughtPicture.png(kind: kind, number: number))
    }

    @Test("annotations teach, predictions have the taught version, and a deletion is remembered over a restart")
    func annotationsTeach() throws {
        let server = try TaughtDaemon(["--dialects", "labelstudio"])
        #expect(try Self.annotate(server, 1, ["Across"], Self.picture(0, 1)).status == 404)
        try server.create()
        func predict(_ images: [String]) throws -> [[String: Any]] {
            let answer = try Self.ask(
                server, "/predict",
                ["tasks": images.map { ["data": ["photo": $0]] }, "label_config": Self.config()])
            #expect(answer.status == 200, "\(answer.text)")
            return answer.json["results"] as? [[String: Any]] ?? []
        }
        func version() throws -> String? {
            try Self.ask(server, "/setup", ["schema": Self.config(), "access_token": "a-secret-of-label-studio"])
                .json["model_version"] as? String
        }
        // Nothing is taught yet: empty results, as many as tasks.
        let before = try predict([Self.picture(0, 9), Self.picture(1, 9)])
        #expect(before.count == 2 && before.allSatisfy { ($0["result"] as? [Any])?.isEmpty == true })
        #expect(try version() == "parts 0" && before.first?["model_version"] as? String == "parts 0")

        for number in 1...6 {
            let kind = number % 2
            let answer = try Self.annotate(server, number, [Self.labels[kind]], Self.picture(kind, number))
            #expect(answer.status == 201 && answer.json["taught"] as? Int == 1, "\(answer.text)")
        }
        #expect(try Self.classes(server) == ["across": 3, "down": 3])
        let after = try predict((10..<14).map { Self.picture($0 % 2, $0) })
        let choices = after.map { one in
            ((one["result"] as? [[String: Any]])?.first?["value"] as? [String: Any])?["choices"] as? [String]
        }
        #expect(choices == [["Across"], ["Down"], ["Across"], ["Down"]])
        let now = try #require(try version())
        #expect(now == "parts 6" && after.allSatisfy { $0["model_version"] as? String == now })

        // The ids are kept over a crash; an annotation that taught nothing here is nothing to forget.
        try server.restart(killing: true)
        #expect(try Self.delete(server, [2, 77]) == 1)
        #expect(try Self.classes(server) == ["across": 2, "down": 3])
        #expect(try Self.delete(server, [2]) == 0)
        #expect(try Self.delete(server, [1, 3, 5], config: "…") == 3)
        #expect(try Self.classes(server) == ["across": 2])
        #expect(!server.daemon.log.contains("a-secret-of-label-studio"))
        #expect(server.daemon.stop() == 0, "\(server.daemon.log)")
    }

    @Test("a changed annotation teaches its new choice only, and a skipped one nothing")
    func changedAnnotationsTeachTheNewChoice() throws {
        let server = try TaughtDaemon(["--dialects", "labelstudio"])
        try server.create()
        let one = Self.picture(0, 1)
        #expect(try Self.annotate(server, 1, ["Across"], one, skipped: true).status == 200)
        #expect(try Self.annotate(server, 1, [], one).status == 200)
        #expect(try Self.annotate(server, 1, ["Across", "Down"], one).status == 200)
        #expect(try Self.classes(server) == [:])
        #expect(try Self.annotate(server, 1, ["Across"], one).status == 201)
        func update(_ id: Int, _ choices: [String], _ image: String, skipped: Bool = false) throws -> Int {
            try Self.annotate(server, id, choices, image, action: "ANNOTATION_UPDATED", skipped: skipped).status
        }
        #expect(try update(1, ["Down"], one) == 201)
        #expect(try Self.classes(server) == ["down": 1])
        // The task has another picture now.
        #expect(try update(1, ["Down"], Self.picture(1, 1)) == 201)
        #expect(try Self.classes(server) == ["down": 1])
        #expect(try update(1, ["Down"], one, skipped: true) == 200)
        #expect(try Self.classes(server) == [:])
        // Two people say the same: the example stays until both are deleted. A third one says otherwise.
        for id in [2, 3] { #expect(try Self.annotate(server, id, ["Across"], one).status == 201) }
        #expect(try Self.delete(server, [2]) == 0)
        #expect(try Self.classes(server) == ["across": 1])
        #expect(try Self.annotate(server, 4, ["Other"], one).status == 201)
        #expect(try Self.delete(server, [3]) == 0)
        #expect(try Self.classes(server) == ["other": 1])
        #expect(try Self.delete(server, [4]) == 1)
        // An example that was taught otherwise is not an annotation's.
        try server.teach("across", TaughtPicture.png(kind: 0, number: 1))
        #expect(try Self.annotate(server, 5, ["Across"], one).status == 201)
        #expect(try Self.delete(server, [5]) == 0)
        #expect(try Self.classes(server) == ["across": 1])
        #expect(server.daemon.stop() == 0, "\(server.daemon.log)")
    }

    @Test("a webhook without a taught model, or with a picture that cannot be used, teaches nothing and says why")
    func webhooksThatTeachNothing() throws {
        let server = try TaughtDaemon(["--dialects", "labelstudio"])
        try server.create()
        let one = Self.picture(0, 1)
        for (model, words) in [("nosuch", "nosuch"), ("digits", "digits"), ("", "model_path")] {
            let answer = try Self.annotate(server, 1, ["Across"], one, config: Self.config(model))
            #expect(answer.status == 404 && answer.error.contains(words), "\(answer.text)")
        }
        // As with a picture in the body: bytes of an unknown format are 415.
        for (image, status) in [
            ("https://example.com/a.png", 400), ("data:image/png;base64,AAAA", 415),
            ("/data/local-files/?d=a.png", 400),
        ] {
            let answer = try Self.annotate(server, 1, ["Across"], image)
            #expect(answer.status == status, "\(image): \(answer.text)")
        }
        let bomb = "<!DOCTYPE a [<!ENTITY b \"c\">]>" + Self.config()
        #expect(try Self.annotate(server, 1, ["Across"], one, config: bomb).status == 400)
        #expect(try Self.classes(server) == [:])
        for action in ["TASKS_CREATED", "PROJECT_UPDATED", "START_TRAINING", "LABEL_LINK_CREATED"] {
            #expect(try Self.ask(server, "/webhook", ["action": action, "tasks": [["id": 9]]]).status == 200)
        }
        #expect(server.daemon.stop() == 0, "\(server.daemon.log)")
    }

    @Test(
        "a token comes as a bearer or as Basic's password, on these routes only, and without one only this machine asks"
    )
    func tokensComeAsPasswords() throws {
        let teach = "teach-token-0123456789", infer = "infer-token-0123456789", all = "all:token:0123456789"
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-tokens-\(UUID().uuidString)")
        try "teach \(teach)\ninfer \(infer)\nall \(all)\n".write(to: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        defer { try? FileManager.default.removeItem(at: file) }
        let server = try TaughtDaemon(["--dialects", "labelstudio", "--tokens-file", file.path])
        let bearer = ["-H", "Authorization: Bearer \(all)"]
        #expect(try server.put("parts", "{\"embedder\": \"embedder\"}", bearer).status == 201)
        func annotate(_ arguments: [String]) throws -> Int {
            try Self.annotate(server, 1, ["Across"], Self.picture(0, 1), arguments).status
        }
        #expect(
            try annotate([]) == 401 && annotate(["-u", "me:wrong"]) == 401 && annotate(["-u", "me:\(infer)"]) == 403)
        #expect(try annotate(["-H", "Authorization: Basic !"]) == 401)
        #expect(try annotate(["-u", "me:\(teach)"]) == 201 && annotate(["-u", ":\(all)"]) == 201)
        #expect(try annotate(["-H", "Authorization: Bearer \(teach)"]) == 201)
        func predict(_ arguments: [String]) throws -> Int {
            try Self.ask(server, "/predict", ["tasks": [], "label_config": Self.config()], arguments).status
        }
        #expect(
            try predict(["-u", "me:\(infer)"]) == 200 && predict(["-u", "me:\(teach)"]) == 403 && predict([]) == 401)
        #expect(try server.get("/versions", ["-u", "me:\(all)"]).status == 200)
        #expect(try server.get("/versions").status == 401 && server.get("/health").status == 200)
        // Other routes know no password.
        #expect(try server.get("/v1/models", ["-u", "me:\(all)"]).status == 401)
        #expect(!server.daemon.log.contains("token-0123456789"), "a token was logged")
        #expect(server.daemon.stop() == 0, "\(server.daemon.log)")

        let open = try TaughtDaemon(["--dialects", "labelstudio"])
        for path in ["/setup", "/webhook"] {
            let body: [String: Any] = ["schema": "<View/>", "action": "TASKS_CREATED"]
            #expect(try Self.ask(open, path, body).status == 200)
            #expect(try Self.ask(open, path, body, ["-H", "Host: elsewhere.example"]).status == 403)
        }
        #expect(open.daemon.stop() == 0, "\(open.daemon.log)")
    }

    // MARK: Shared requests

    @Test(
        "the shared requests of Label Studio get answers that it takes",
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
    func sharedRequestsAreAnswered() throws {
        let data = try #require(SharedData.folder).appendingPathComponent("trust/labelstudio")
        let things = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/observations")
        let server = try TaughtDaemon(["--dialects", "labelstudio", "--labelstudio-files", data.path]) { models in
            try FileManager.default.copyItem(
                at: things.appendingPathComponent("ssd_few"), to: models.appendingPathComponent("ssd_few"))
        }
        func read(_ name: String) throws -> [[String: Any]] {
            let text = try Data(contentsOf: data.appendingPathComponent(name))
            return try #require(try JSONSerialization.jsonObject(with: text) as? [[String: Any]])
        }
        // The models of these answers are not here: the form counts, and the tags that have a default model.
        for one in try read("predict.json") {
            let request = try #require(one["request"] as? [String: Any])
            let tasks = try #require(request["tasks"] as? [[String: Any]])
            let config = request["label_config"] as? String ?? ""
            let answer = try Self.ask(server, "/predict", request)
            guard config.contains("<Choices") || config.contains("<RectangleLabels") else {
                #expect(answer.status == 404 && answer.code == "model_not_found", "\(answer.text)")
                continue
            }
            let results = try #require(answer.json["results"] as? [[String: Any]], "\(answer.text)")
            #expect(
                results.count == tasks.count && results.allSatisfy { $0["result"] is [Any] && $0["score"] is Double })
            for (task, result) in zip(tasks, results) {
                let isAddress = ((task["data"] as? [String: Any])?["image"] as? String)?.hasPrefix("http") == true
                #expect((result["error"] != nil) == isAddress, "\(result)")
            }
        }
        try server.create()
        for one in try read("others.json") {
            let request = try #require((one["request"] as? String)?.split(separator: " "))
            let path = String(request[1])
            guard let body = one["body"] as? [String: Any] else {
                #expect(try server.get(path).status == 200)
                continue
            }
            let answer = try Self.ask(server, path, body)
            #expect(answer.status == one["status"] as? Int ?? 200, "\(answer.text)")
        }
        #expect(try Self.classes(server) == [:])
        #expect(server.daemon.stop() == 0, "\(server.daemon.log)")
    }

    // MARK: Label Studio

    @Test(
        "Label Studio itself teaches a model by its webhook, and shows its predictions",
        .enabled(if: PythonClients.isLabelStudioAvailable, Comment(rawValue: PythonClients.labelStudioAbsence)),
        .timeLimit(.minutes(20)))
    func labelStudioItself() throws {
        let files = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-files-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: files) }
        let server = try TaughtDaemon(["--dialects", "labelstudio", "--labelstudio-files", files.path])
        try server.create()
        let result = try PythonClients.runLabelStudio([server.url, "parts", files.path])
        let seen = try #require(
            try? JSONSerialization.jsonObject(with: result.output) as? [String: Any],
            "\(result.text)\(result.errors)\(server.daemon.log)")
        #expect(seen["state"] as? String == "CO" && (seen["versions"] as? [String])?.contains("digits 1") == true)
        let before = try #require(seen["before"] as? [[String: Any]])
        #expect(before.count == 10 && before.allSatisfy { $0["choice"] is NSNull }, "\(before)")
        #expect(seen["taught"] as? [String: Int] == ["Across": 3, "Down": 3])
        let after = try #require(seen["after"] as? [[String: Any]])
        #expect(after.count == 10)
        for one in after {
            #expect(
                one["choice"] as? String == one["kind"] as? String && one["version"] as? String == "parts 6", "\(one)")
        }
        #expect(seen["changed"] as? [String: Int] == ["Across": 2, "Down": 4])
        #expect(seen["deleted"] as? [String: Int] == ["Across": 3, "Down": 2])
        #expect(server.daemon.stop() == 0, "\(server.daemon.log)")
    }
}
