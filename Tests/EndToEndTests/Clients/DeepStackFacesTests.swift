import Foundation
import TestSupport
import Testing

/// DeepStack's routes of known faces, with the real binary. The detector finds the same things in every picture, and
/// the embedder gives the mean colour of a crop; the test paints the place of the largest find.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct DeepStackFacesTests {
    private typealias Color = PipelineDaemon.Color

    private static let blue: Color = (20, 60, 210), teal: Color = (20, 120, 180), green: Color = (30, 200, 60)
    private static let red: Color = (230, 20, 20)
    private static let width = 240, height = 160
    private static let face = """
        {"model": "spots", "threshold": 0.8, "classes": ["even"], "each": [
          {"as": "age", "model": "means", "task": "embed"}, {"as": "who", "model": "persons", "task": "classify"}]}
        """
    private static let routes = ["register", "recognize", "match", "list", "delete"]

    private static func server(
        _ pipeline: String = face, _ flags: [String] = [], teaches: Bool = true
    ) throws -> PipelineDaemon {
        try PipelineDaemon(["face": pipeline], ["--dialects", "deepstack"] + flags, teaches: teaches)
    }

    /// The form of a route, with pictures where it takes some.
    private static func fields(_ route: String) -> [(name: String, value: String)] {
        switch route {
        case "match": [("image1", "@one"), ("image2", "@one")]
        case "list", "delete": [("userid", "mary")]
        default: [("image", "@one"), ("userid", "mary")]
        }
    }

    /// The places that the pipeline finds, in pixels.
    private static func boxes(_ server: PipelineDaemon) throws -> [(
        x: Double, y: Double, width: Double, height: Double
    )] {
        let plain = try PipelineDaemon.png([red], width: width, height: height)
        let answer = try server.post(plain, "/v1/models/face/detect")
        return try answer.detections.map { one in
            let box = try #require(one["box"] as? [String: Double], "\(one)")
            return (box["x"] ?? .nan, box["y"] ?? .nan, box["width"] ?? .nan, box["height"] ?? .nan)
        }
    }

    /// A red picture with one colour at the largest place.
    private static func picture(_ color: Color, _ server: PipelineDaemon) throws -> Data {
        let largest = try #require(try boxes(server).max { $0.width * $0.height < $1.width * $1.height })
        let left = Int(largest.x) - 1, right = Int(largest.x + largest.width) + 2
        let top = Int(largest.y) - 1, bottom = Int(largest.y + largest.height) + 2
        return try PipelineDaemon.png(width: width, height: height) { x, y in
            (left..<right).contains(x) && (top..<bottom).contains(y) ? color : red
        }
    }

    private static func plain(_ color: Color) throws -> Data {
        try PipelineDaemon.png([color], width: width, height: height)
    }

    /// The cosine of two colours' embeddings, which `/embed` gives, as a number from 0 to 1.
    private static func similarity(_ server: PipelineDaemon, _ first: Color, _ second: Color) throws -> Double {
        let vectors = try [first, second].map { color in
            let answer = try server.post(try plain(color), "/v1/models/means/embed")
            return try #require(answer.json["embedding"] as? [Double], "\(answer.text)")
        }
        func product(_ a: [Double], _ b: [Double]) -> Double { zip(a, b).reduce(0) { $0 + $1.0 * $1.1 } }
        let length = (product(vectors[0], vectors[0]) * product(vectors[1], vectors[1])).squareRoot()
        return (1 + product(vectors[0], vectors[1]) / length) / 2
    }

    private func register(_ server: PipelineDaemon, _ person: String, _ pictures: [Data]) throws -> Answer {
        for (index, picture) in pictures.enumerated() { try server.write(picture, as: "face\(index)") }
        let names = pictures.count == 1 ? ["image"] : (1...pictures.count).map { "image\($0)" }
        let parts = names.enumerated().map { (name: $1, value: "@face\($0)") }
        return try server.form(
            parts + [("userid", person), ("api_key", "secret")], "/v1/vision/face/register")
    }

    private func recognize(_ server: PipelineDaemon, _ picture: Data, _ fields: [(name: String, value: String)] = [])
        throws -> Answer
    {
        try server.write(picture, as: "asked")
        return try server.form([("image", "@asked")] + fields, "/v1/vision/face/recognize")
    }

    private func predictions(_ answer: Answer) throws -> [[String: Any]] {
        #expect(answer.status == 200 && answer.json["success"] as? Bool == true, "\(answer.text)")
        return try #require(answer.json["predictions"] as? [[String: Any]], "\(answer.text)")
    }

    // MARK: Faces

    @Test("faces are registered, recognized by the nearest example, listed, compared and forgotten")
    func facesAreKnownByTheirNames() throws {
        let server = try Self.server()
        #expect(try server.create("persons").status == 201)
        let boxes = try Self.boxes(server)
        let asked = try Self.plain(Self.teal)
        // Nobody is known yet.
        let nobody = try predictions(recognize(server, asked))
        #expect(nobody.count == boxes.count && boxes.count > 4)
        #expect(nobody.allSatisfy { $0["userid"] as? String == "unknown" && $0["confidence"] as? Double == 0 })
        #expect(try faces(server) == [])

        let blue = try Self.picture(Self.blue, server), green = try Self.picture(Self.green, server)
        for (person, picture, message) in [
            ("mary", blue, "face added"), ("anna", green, "face added"),
            ("mary", try Self.plain(Self.blue), "face updated"),
            ("mary", blue, "face updated"),
        ] {
            let answer = try register(server, person, [picture])
            #expect(answer.status == 200 && answer.json["success"] as? Bool == true, "\(answer.text)")
            #expect(answer.json["message"] as? String == message && answer.json["errors"] == nil, "\(answer.text)")
        }
        #expect(try faces(server) == ["anna", "mary"])
        let taught = try server.get("/v1/taught/persons/examples").json["examples"] as? [[String: Any]]
        let ids = try [blue, green].map { String(try Shell.run("sha256sum", [], input: $0).text.prefix(64)) }
        #expect(Set(ids).isSubset(of: Set((taught ?? []).compactMap { $0["id"] as? String })) && taught?.count == 3)

        // The oracle: the cosines of the colours' embeddings.
        let nearest = max(
            try Self.similarity(server, Self.teal, Self.blue), try Self.similarity(server, Self.teal, Self.green))
        let person = try Self.similarity(server, Self.teal, Self.blue) == nearest ? "mary" : "anna"
        let found = try predictions(recognize(server, asked))
        #expect(found.count == boxes.count)
        for (one, box) in zip(found, boxes) {
            #expect(one["userid"] as? String == person, "\(one)")
            #expect(abs((one["confidence"] as? Double ?? 9) - nearest) < 1e-4, "\(one) \(nearest)")
            for (name, place) in [
                ("x_min", box.x), ("y_min", box.y), ("x_max", box.x + box.width), ("y_max", box.y + box.height),
            ] { #expect(abs(Double(one[name] as? Int ?? -9) - place) <= 0.502, "\(name): \(one) \(box)") }
        }
        try compare(server, blue, green)
        try forget(server)
        #expect(server.daemon.stop() == 0, "\(server.daemon.log)")
    }

    private func faces(_ server: PipelineDaemon) throws -> [String] {
        let answers = [
            try Curl.run(server.url + "/v1/vision/face/list", ["-X", "POST"]), try server.get("/v1/vision/face/list"),
        ]
        for answer in answers {
            #expect(answer.status == 200 && answer.json["success"] as? Bool == true, "\(answer.text)")
        }
        return try #require(answers[0].json["faces"] as? [String], "\(answers[0].text)")
    }

    private func compare(_ server: PipelineDaemon, _ blue: Data, _ green: Data) throws {
        try server.write(blue, as: "one")
        try server.write(green, as: "two")
        for (files, other) in [(["one", "two"], Self.green), (["one", "one"], Self.blue)] {
            let answer = try server.form(
                [("image1", "@" + files[0]), ("image2", "@" + files[1])], "/v1/vision/face/match")
            let expected = try Self.similarity(server, Self.blue, other)
            #expect(answer.status == 200 && answer.json["success"] as? Bool == true, "\(answer.text)")
            #expect(abs((answer.json["similarity"] as? Double ?? 9) - expected) < 1e-4, "\(answer.text) \(expected)")
        }
        for count in [1, 3] {
            let parts = (1...count).map { (name: "image\($0)", value: "@one") }
            let answer = try server.form(parts, "/v1/vision/face/match")
            #expect(answer.status == 400 && answer.error.contains("two pictures"), "\(answer.text)")
        }
    }

    private func forget(_ server: PipelineDaemon) throws {
        let path = "/v1/vision/face/delete"
        let missing = try Curl.run(server.url + path, ["-X", "POST"])
        #expect(missing.status == 400 && missing.error.contains("userid"), "\(missing.text)")
        #expect(try server.form([("userid", "anna")], path).json["success"] as? Bool == true)
        #expect(try faces(server) == ["mary"])
        let again = try server.form([("userid", "anna")], path)
        #expect(again.status == 404 && again.json["success"] as? Bool == false, "\(again.text)")
        #expect(try register(server, "åsa & co", [try Self.plain(Self.green)]).status == 200)
        let encoded = try Curl.run(server.url + path, ["--data-urlencode", "userid=åsa & co", "-d", "api_key=x"])
        #expect(encoded.status == 200, "\(encoded.text)")
        #expect(try Curl.run(server.url + path + "?userid=mary", ["-X", "POST"]).status == 200)
        #expect(try faces(server) == [])
        let large = try server.post(Data(repeating: 97, count: 20_000), path)
        #expect(large.status == 413 && large.json["success"] as? Bool == false, "\(large.text)")
    }

    @Test("min_confidence decides on unknown faces, and a face below it has confidence 0")
    func aFaceBelowTheMinimum_isUnknown() throws {
        let server = try Self.server()
        try server.create("persons")
        #expect(try register(server, "mary", [try Self.plain(Self.blue)]).status == 200)
        let similarity = try Self.similarity(server, Self.red, Self.blue)
        let picture = try Self.plain(Self.red)
        for (minimum, isKnown) in [
            (nil, similarity >= 0.67), ("0", true), ("\(similarity - 0.001)", true), ("\(similarity + 0.001)", false),
            ("1", false),
        ] as [(String?, Bool)] {
            let found = try predictions(
                recognize(server, picture, minimum.map { [("min_confidence", $0)] } ?? []))
            for one in found {
                #expect(one["userid"] as? String == (isKnown ? "mary" : "unknown"), "\(minimum ?? "usual"): \(one)")
                let confidence = one["confidence"] as? Double ?? 9
                #expect(abs(confidence - (isKnown ? similarity : 0)) < 1e-4, "\(minimum ?? "usual"): \(one)")
            }
        }
        let wrong = try recognize(server, picture, [("min_confidence", "2")])
        #expect(wrong.status == 400 && wrong.error.contains("0 to 1"), "\(wrong.text)")
        #expect(server.daemon.stop() == 0)
    }

    @Test("pictures of a registration count one by one, and 400 is for those without a find")
    func picturesWithoutAFace_areRefused() throws {
        let server = try Self.server()
        try server.create("persons")
        let good = try Self.plain(Self.blue), bad = Data("no picture".utf8)
        let some = try register(server, "mary", [bad, good])
        let errors = some.json["errors"] as? [[String: Any]]
        #expect(some.status == 200 && some.json["message"] as? String == "face added", "\(some.text)")
        #expect(errors?.count == 1 && errors?.first?["part"] as? Int == 1, "\(some.text)")
        let none = try register(server, "mary", [bad, bad])
        #expect(none.status == 415 && none.json["success"] as? Bool == false, "\(none.text)")
        for person in ["", String(repeating: "m", count: 257)] {
            let answer = try register(server, person, [good])
            #expect(answer.status == 400 && answer.error.contains("1 to 256 bytes"), "\(answer.text)")
        }
        let nameless = try server.form([("image", "@face0")], "/v1/vision/face/register")
        #expect(nameless.status == 400 && nameless.error.contains("\"userid\" is missing"), "\(nameless.text)")
        #expect(server.daemon.stop() == 0)

        let blind = try Self.server(Self.face.replacingOccurrences(of: "0.8", with: "1"))
        try blind.create("persons")
        let refused = try register(blind, "mary", [good])
        #expect(refused.status == 400 && refused.code == "invalid_input", "\(refused.text)")
        #expect(refused.error.contains("nothing is found"), "\(refused.text)")
        #expect(try predictions(recognize(blind, good)).isEmpty)
        try blind.write(good, as: "one")
        let match = try blind.form([("image1", "@one"), ("image2", "@one")], "/v1/vision/face/match")
        #expect(match.status == 400, "\(match.text)")
        #expect(blind.daemon.stop() == 0)
    }

    @Test("a cached recognition is not given again once another face is known")
    func cachedAnswers_endWithTheNextFace() throws {
        let server = try Self.server(Self.face, ["--answer-cache", "8MiB"])
        try server.create("persons")
        let picture = try Self.plain(Self.blue)
        #expect(try register(server, "mary", [try Self.plain(Self.green)]).status == 200)
        _ = try server.evaluated("persons")
        try server.write(picture, as: "asked")
        func ask() throws -> (person: String, cache: String) {
            // The boundary must be the same for an equal body.
            let body =
                Data("--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"p\"\r\n\r\n".utf8)
                + picture + Data("\r\n--b--\r\n".utf8)
            let answer = try Curl.run(
                server.url + "/v1/vision/face/recognize?min_confidence=0",
                ["-H", "Content-Type: multipart/form-data; boundary=b", "--data-binary", "@-"], input: body)
            let first = try #require(try predictions(answer).first)
            return (first["userid"] as? String ?? "", answer.headers["cache-status"] ?? "")
        }
        #expect(try ask() == ("mary", "ocelli; fwd=miss") && ask() == ("mary", "ocelli; hit"))
        #expect(try register(server, "anna", [picture]).status == 200)
        #expect(try ask() == ("anna", "ocelli; fwd=miss"))
        #expect(server.daemon.stop() == 0)
    }

    // MARK: Refusals

    @Test("without the pipeline, its taught model or taught_dir each route is an error that says how to get them")
    func absentParts_areSaid() throws {
        let picture = try Self.plain(Self.blue)
        func check(_ server: PipelineDaemon, _ status: Int, _ words: String) throws {
            try server.write(picture, as: "one")
            for route in Self.routes {
                let answer = try server.form(Self.fields(route), "/v1/vision/face/" + route)
                #expect(answer.status == status && answer.error.contains(words), "\(route): \(answer.text)")
                #expect(answer.json["success"] as? Bool == false && !answer.code.isEmpty, "\(route): \(answer.text)")
            }
            #expect(server.daemon.stop() == 0)
        }
        try check(try Self.server(), 404, "PUT /v1/taught/persons")
        try check(try PipelineDaemon([:], ["--dialects", "deepstack"]), 404, "the pipeline named \"face\"")
        try check(try Self.server("{\"model\": \"spots\"}"), 400, "is not a pipeline with a stage")
        try check(
            try PipelineDaemon([:], ["--dialects", "deepstack"], teaches: false), 404, "`taught_dir`")
        let off = try PipelineDaemon(["face": Self.face])
        for route in Self.routes {
            let answer = try Curl.run(off.url + "/v1/vision/face/" + route, ["-X", "POST"])
            #expect(answer.status == 404 && answer.error.contains("dialects"), "\(answer.text)")
        }
        #expect(off.daemon.stop() == 0)
    }

    @Test("registering, listing and deleting need class teach, recognizing and comparing class infer")
    func accessIsByClass() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-tokens-\(UUID().uuidString)")
        try "infer infer-token-0123456789\nread read-token-0123456789\nteach teach-token-0123456789\n"
            .write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let server = try Self.server(Self.face, ["--tokens-file", file.path])
        let picture = try Self.plain(Self.blue)
        try server.write(picture, as: "one")
        func status(_ route: String, _ fields: [String], _ server: PipelineDaemon) throws -> Int {
            try server.form(Self.fields(route), "/v1/vision/face/" + route, fields).status
        }
        func token(_ kind: String) -> [String] { ["-H", "Authorization: Bearer \(kind)-token-0123456789"] }
        let created = try Curl.run(
            server.url + "/v1/taught/persons",
            ["-X", "PUT", "--data-binary", "{\"embedder\": \"means\"}"] + token("teach"))
        #expect(created.status == 201, "\(created.text)")
        for (route, kind) in [
            ("register", "teach"), ("recognize", "infer"), ("match", "infer"), ("list", "teach"), ("delete", "teach"),
        ] {
            #expect(try status(route, [], server) == 401, "\(route)")
            for other in ["infer", "read", "teach"] where other != kind {
                #expect(try status(route, token(other), server) == 403, "\(route) \(other)")
            }
            #expect(try status(route, token(kind), server) == 200, "\(route)")
        }
        #expect(server.daemon.stop() == 0)

        // Without tokens only local clients teach.
        let open = try Self.server()
        try open.create("persons")
        try open.write(picture, as: "one")
        for (route, expected) in [
            ("register", 403), ("recognize", 200), ("match", 200), ("list", 403), ("delete", 403),
        ] {
            #expect(try status(route, ["-H", "X-Forwarded-For: 203.0.113.7"], open) == expected, "\(route)")
        }
        #expect(open.daemon.stop() == 0)
    }

    // MARK: Clients

    @Test(
        "clients of known faces, as in double-take and DeepStack's own packages, register, recognize and delete",
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)))
    func clientsOfKnownFaces() throws {
        let server = try Self.server()
        try server.create("persons")
        for (name, color) in [("mary", Self.blue), ("anna", Self.green), ("asked", Self.teal)] {
            try server.write(try Self.picture(color, server), as: name + ".png")
        }
        let result = try PythonClients.run(
            "deepstack_faces.py",
            [server.url] + ["mary", "anna", "asked"].map { server.folder.path + "/\($0).png" })
        #expect(result.status == 0, "\(result.text)\(result.errors)")
        #expect(server.daemon.stop() == 0)
    }
}
