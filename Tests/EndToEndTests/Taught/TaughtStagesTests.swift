import Foundation
import Synchronization
import TestSupport
import Testing

/// Stages of pipelines that name taught models, with the real binary. The detector finds the same things in every
/// picture, and the embedder gives the mean colour of a crop, so that a crop of one colour answers as a picture of it.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct TaughtStagesTests {
    private static let red: PipelineDaemon.Color = (220, 30, 40), green: PipelineDaemon.Color = (30, 200, 60)
    private static let blue: PipelineDaemon.Color = (20, 60, 210)
    private static let people = """
        {"model": "spots", "each": [{"as": "who", "model": "persons", "task": "classify"},
          {"as": "vector", "model": "means", "task": "embed"}]}
        """

    private static func taught(_ flags: [String] = []) throws -> PipelineDaemon {
        let server = try PipelineDaemon(["people": people], flags)
        try server.create("persons")
        for (label, color) in [("red", red), ("green", green), ("blue", blue)] {
            for shade in [0, 12] as [UInt8] {
                let picture = try PipelineDaemon.png([(color.red - shade, color.green + shade, color.blue)])
                #expect(try server.teach(label, picture, to: "persons").status == 201)
            }
        }
        _ = try server.evaluated("persons")
        return server
    }

    private func codes(_ answer: Answer) -> Set<String> { Set(answer.stage("who").map { $0["code"] as? String ?? "" }) }

    // MARK: Answers

    @Test("each detection has the answer that classify of the taught model gives for its crop")
    func stagesAnswerAsClassify() throws {
        let server = try Self.taught()
        let answer = try server.post(
            try PipelineDaemon.png([Self.red, Self.blue]), "/v1/models/people/detect")
        #expect(answer.status == 200 && answer.detections.count == 64, "\(answer.text.prefix(300))")
        var compared = 0
        for (color, range) in [(Self.red, 0.0...99), (Self.blue, 101.0...200)] {
            let alone = try server.post(try PipelineDaemon.png([color]), "/v1/models/persons/classify?top=3").json
            let classes = try #require(alone["classifications"] as? [[String: Any]])
            for one in answer.detections {
                let place = columns(of: one)
                guard range.contains(place.lowerBound), range.contains(place.upperBound) else { continue }
                compared += 1
                let who = try #require(one["who"] as? [String: Any])
                let found = who["classifications"] as? [[String: Any]] ?? []
                #expect(found.map { $0["label"] as? String } == classes.map { $0["label"] as? String })
                for (one, other) in zip(found, classes) {
                    let (a, b) = (one["confidence"] as? Double ?? 9, other["confidence"] as? Double ?? -9)
                    #expect(abs(a - b) < 1e-4, "\(who) \(alone)")
                }
                #expect(abs((who["distance"] as? Double ?? 9) - (alone["distance"] as? Double ?? -9)) < 1e-4)
                #expect(who["known"] as? Bool == alone["known"] as? Bool && who["known"] is Bool)
            }
        }
        #expect(compared > 20, "\(compared)")
        let listed = try server.get("/v1/models/people").json["pipeline"] as? [String: Any]
        let stage = try #require((listed?["each"] as? [[String: Any]])?.first)
        #expect(
            stage["model"] as? String == "persons" && stage["taught"] as? Bool == true
                && stage["version"] as? String == "6", "\(stage)")
        #expect(server.daemon.stop() == 0)
    }

    @Test("each route that runs a pipeline's stages has the taught answers, and routes without stages do not need them")
    func everyRouteOfAPipeline_hasTheTaughtAnswers() throws {
        let server = try Self.taught(["--default-model", "people", "--dialects", "sagemaker,deepstack"])
        let picture = try PipelineDaemon.png([Self.green])
        for path in ["/v1/detect", "/v1/models/people/detect", "/v1/models/people/versions/1/detect", "/invocations"] {
            let answer = try server.post(picture, path, ["-H", "Content-Type: image/png"])
            #expect(answer.status == 200 && answer.detections.count == 64, "\(path): \(answer.text.prefix(300))")
            let labels = answer.stage("who").map { who in
                (who["classifications"] as? [[String: Any]])?.first?["label"] as? String
            }
            #expect(Set(labels) == ["green"] && labels.count == 64, "\(path): \(labels)")
        }
        let vision = try server.post(picture, "/v1/vision/detection", ["-H", "Content-Type: image/png"])
        #expect(vision.status == 200 && (vision.json["predictions"] as? [Any])?.isEmpty == false, "\(vision.text)")
        #expect(server.daemon.stop() == 0)
    }

    @Test(
        "a taught stage answers as classify does for Pillow's crop",
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)))
    func stagesAnswerAsClassifyOfPillowsCrops() throws {
        let margin = """
            {"model": "spots", "threshold": 0.6, "each": [
              {"as": "who", "model": "persons", "task": "classify", "crop": {"margin": 0.2, "square": true}}]}
            """
        let server = try PipelineDaemon(["people": margin])
        try server.create("persons")
        for (label, color) in [("red", Self.red), ("green", Self.green), ("blue", Self.blue)] {
            #expect(try server.teach(label, try PipelineDaemon.png([color]), to: "persons").status == 201)
        }
        let pictures = SharedData.packageRoot.appendingPathComponent("Tests/ImagePipelineTests/Fixtures")
        let result = try PythonClients.run(
            "taught_stages.py",
            [server.url, "people", "who", "persons", "0.2", "90,96.67,103.33"]
                + ["scene.png", "orientation-6.jpg"].map { pictures.appendingPathComponent($0).path })
        #expect(result.status == 0, "\(result.text)\(result.errors)")
        #expect(server.daemon.stop() == 0)
    }

    @Test("a pipeline is served before its taught model, and the stage's place has the reason until it is taught")
    func absentModels_areErrorsInTheirPlace() throws {
        let server = try PipelineDaemon(["people": Self.people], ["--answer-cache", "8MiB"])
        let picture = try PipelineDaemon.png([Self.red])
        func ask() throws -> Answer { try server.post(picture, "/v1/models/people/detect") }
        for _ in 0..<2 {
            let answer = try ask()
            #expect(answer.status == 200 && answer.detections.count == 64 && codes(answer) == ["model_not_found"])
            #expect(answer.stage("vector").allSatisfy { ($0["embedding"] as? [Any])?.count == 3 })
            let reason = answer.stage("who").first?["error"] as? String ?? ""
            #expect(reason.contains("PUT /v1/taught/persons"), "\(reason)")
        }
        let explained = try server.post(picture, "/v1/models/people/detect?explain=png&stage=who&find=0")
        #expect(explained.status == 404 && explained.code == "model_not_found", "\(explained.text)")
        let listed = try server.get("/v1/models/people")
        #expect(listed.text.contains("\"model\":\"persons\",\"taught\":true,\"version\":null"), "\(listed.text)")
        #expect(try server.get("/readyz").status == 200)
        #expect(try server.create("persons").status == 201)
        let empty = try ask()
        #expect(empty.status == 200 && codes(empty) == ["model_not_ready"], "\(empty.text.prefix(300))")
        #expect(try server.teach("mary", picture, to: "persons").status == 201)
        let known = try ask()
        #expect(codes(known) == [""])
        for who in known.stage("who") {
            let classes = who["classifications"] as? [[String: Any]] ?? []
            #expect(classes.count == 1 && classes[0]["label"] as? String == "mary", "\(who)")
        }
        let seen = try server.post(picture, "/v1/models/people/detect?explain=png&stage=who&find=0")
        #expect(seen.status == 200 && seen.headers["content-type"] == "image/png", "\(seen.text.prefix(200))")
        #expect(try Curl.run(server.url + "/v1/taught/persons", ["-X", "DELETE"]).status == 204)
        #expect(codes(try ask()) == ["model_not_found"])
        #expect(try server.create("persons").status == 201)
        #expect(try server.teach("anna", picture, to: "persons").status == 201)
        #expect(codes(try ask()) == [""])
        let metrics = try server.get("/metrics").text
        #expect(metrics.contains("ocelli_pipeline_crop_failures_total{model=\"people\",stage=\"who\"}"))
        #expect(server.daemon.stop() == 0)
    }

    // MARK: Changes

    @Test("cached answers of a pipeline are not those of an older version of its taught model")
    func cachedAnswers_areOfTheSameVersion() throws {
        let server = try PipelineDaemon(["people": Self.people], ["--answer-cache", "8MiB"])
        let picture = try PipelineDaemon.png([Self.red])
        func ask() throws -> (label: String, cache: String) {
            let answer = try server.post(picture, "/v1/models/people/detect")
            let classes = answer.stage("who").first?["classifications"] as? [[String: Any]]
            return (classes?.first?["label"] as? String ?? "", answer.headers["cache-status"] ?? "")
        }
        try server.create("persons")
        for label in ["one", "two", "three"] {
            #expect(try server.teach(label, picture, to: "persons").status == 201)
            #expect(try ask().label == label)
            _ = try server.evaluated("persons")
            _ = try ask()
            let again = try ask()
            #expect(again.label == label && again.cache == "ocelli; hit", "\(again)")
        }
        let served = try Curl.run(server.url + "/v1/taught/persons/versions/1/serve", ["-X", "POST"])
        #expect(served.status == 200, "\(served.text)")
        let back = try ask()
        #expect(back.label == "one" && back.cache == "ocelli; fwd=miss", "\(back)")
        #expect(server.daemon.stop() == 0)
    }

    /// The only class changes its name with each change, so that an answer with two names would mix two versions.
    @Test("all stages and pictures of a request are answered by one version during a storm of changes")
    func aStormOfChanges_isNeverMixed() throws {
        let twice = """
            {"model": "spots", "each": [{"as": "a", "model": "persons", "task": "classify"},
              {"as": "b", "model": "persons", "task": "classify", "crop": {"margin": 0.1}}]}
            """
        let server = try PipelineDaemon(
            ["people": twice], ["--taught-keep-versions", "1000", "--answer-cache", "8MiB"])
        let picture = try PipelineDaemon.png([Self.red])
        try server.write(picture, as: "p.png")
        try server.create("persons")
        #expect(try server.teach("v0", picture, to: "persons").status == 201)
        let isOver = Mutex(false), seen = Mutex<[Set<String>]>([]), failures = Mutex<[String]>([])
        let group = DispatchGroup()
        let url = server.url, file = server.folder.path + "/p.png"
        for _ in 0..<2 {
            DispatchQueue.global().async(group: group) {
                while !isOver.withLock({ $0 }) {
                    let form = (0..<3).flatMap { _ in ["-F", "image=@\(file)"] }
                    guard let answer = try? Curl.run(url + "/v1/models/people/detect", form) else { continue }
                    let labels = Set(Self.labels(answer))
                    if answer.status != 200 { failures.withLock { $0.append(answer.text) } }
                    seen.withLock { $0.append(labels) }
                }
            }
        }
        for number in 1...40 { #expect(try server.teach("v\(number)", picture, to: "persons").status == 201) }
        isOver.withLock { $0 = true }
        group.wait()
        #expect(failures.withLock { $0 }.isEmpty, "\(failures.withLock { $0.first ?? "" })")
        let answers = seen.withLock { $0 }
        #expect(answers.allSatisfy { $0.count == 1 }, "\(answers.filter { $0.count != 1 })")
        #expect(Set(answers.joined()).count > 2, "\(answers)")
        #expect(server.daemon.stop() == 0)
    }

    /// The labels of all stages of a form's answers; "error" for one that failed. Finds beyond the limit have none.
    private static func labels(_ answer: Answer) -> [String] {
        (answer.json["results"] as? [[String: Any]] ?? []).flatMap { result in
            (result["detections"] as? [[String: Any]] ?? []).flatMap { one in
                ["a", "b"].compactMap { stage -> String? in
                    guard let said = one[stage] as? [String: Any] else { return nil }
                    let classes = said["classifications"] as? [[String: Any]]
                    return classes?.first?["label"] as? String ?? "error"
                }
            }
        }
    }

    @Test("a stage says model_not_ready while the embedder is another one than its examples are from")
    func changedEmbedders_areSaidInTheStagesPlace() throws {
        let server = try Self.taught()
        let picture = try PipelineDaemon.png([Self.red])
        let file = server.models.appendingPathComponent("means/model.json")
        let old = try String(contentsOf: file, encoding: .utf8)
        try old.replacingOccurrences(of: "\"version\": \"1\"", with: "\"version\": \"7\"")
            .write(to: file, atomically: true, encoding: .utf8)
        server.reload()
        #expect(
            eventually {
                (try? codes(server.post(picture, "/v1/models/people/detect"))) == ["model_not_ready"]
            })
        let answer = try server.post(picture, "/v1/models/people/detect")
        #expect(answer.status == 200 && answer.stage("vector").allSatisfy { $0["embedding"] != nil })
        try old.write(to: file, atomically: true, encoding: .utf8)
        server.reload()
        #expect(eventually { (try? codes(server.post(picture, "/v1/models/people/detect"))) == [""] })
        #expect(server.daemon.stop() == 0)
    }

    @Test("a model that gets the name of a stage's missing taught model answers the stage from its load on")
    func aModelOfThatName_takesTheStage() throws {
        let server = try PipelineDaemon(["people": Self.people])
        let picture = try PipelineDaemon.png([Self.green])
        #expect(codes(try server.post(picture, "/v1/models/people/detect")) == ["model_not_found"])
        try PipelineDaemon.copy("colors", to: "persons", in: server.models)
        server.reload()
        #expect(eventually { (try? codes(server.post(picture, "/v1/models/people/detect"))) == [""] })
        let classes = try server.post(picture, "/v1/models/people/detect").stage("who").first?["classifications"]
        #expect((classes as? [[String: Any]])?.first?["label"] as? String == "green")
        #expect(try server.create("persons").status == 409)
        #expect(server.daemon.stop() == 0)
    }

    // MARK: Refusals

    @Test(
        "a taught model is refused as a detector and in stages with other tasks, and a missing one without taught_dir")
    func otherPlaces_areRefused() throws {
        let wrong = [
            "detector": "{\"model\": \"persons\"}",
            "task":
                "{\"model\": \"spots\", \"each\": [{\"as\": \"a\", \"model\": \"persons\", \"task\": \"embed\"}]}",
            "name":
                "{\"model\": \"spots\", \"each\": [{\"as\": \"a\", \"model\": \"no/name\", \"task\": \"classify\"}]}",
            "classes": """
            {"model": "spots", "each": [{"as": "a", "model": "later", "task": "classify", "classes": ["nobody"]}]}
            """,
        ]
        let server = try PipelineDaemon(["people": Self.people].merging(wrong) { first, _ in first })
        try server.create("persons")
        server.reload()
        #expect(server.daemon.waitForLog("reload: done"))
        for (name, reason) in [
            ("detector", "persons"), ("task", "persons"), ("name", "can't be that of a taught model"),
            ("classes", "nobody"),
        ] {
            let listed = try server.get("/v1/models/\(name)").json
            #expect(listed["state"] as? String == "failed", "\(name): \(listed)")
            #expect((listed["reason"] as? String ?? "").contains(reason), "\(name): \(listed)")
        }
        #expect(server.daemon.stop() == 0)
        let without = try PipelineDaemon(["people": Self.people], teaches: false)
        let listed = try without.get("/v1/models/people").json
        #expect(listed["state"] as? String == "failed")
        #expect((listed["reason"] as? String ?? "").contains("unknown model \"persons\""), "\(listed)")
        #expect(without.daemon.stop() == 0)
    }

    @Test("`ocelli check` and `ocelli detect` load a pipeline with a taught model and say that they do not know it")
    func commands_loadThePipeline() throws {
        let server = try Self.taught()
        let environment = ["XDG_CACHE_HOME": Daemon.cache.path], binary = Daemon.binary.path
        let check = try Shell.run(
            binary, ["check", server.models.path + "/people"], environment: environment)
        #expect(check.status == 0 && check.text.contains("stage \"who\": classify by persons"), "\(check.text)")
        #expect(check.text.contains("taught_dir"), "\(check.text)\(check.errors)")
        let json = try Shell.run(
            binary, ["check", "--json", server.models.path + "/people"], environment: environment)
        #expect(json.status == 0 && json.text.contains("\"taught\":true"), "\(json.text)")
        let picture = server.folder.appendingPathComponent("p.png")
        try PipelineDaemon.png([Self.red]).write(to: picture)
        for flags in [["--json"], ["--jsonl"]] {
            let detect = try Shell.run(
                binary, ["detect", "--models", server.models.path, "--model", "people"] + flags + [picture.path],
                environment: environment)
            #expect(detect.text.contains("\"code\":\"model_not_found\""), "\(detect.text.prefix(400))\(detect.errors)")
            #expect(detect.text.contains("only the daemon that it is taught in"), "\(detect.text.prefix(400))")
        }
        let text = try Shell.run(
            binary, ["detect", "--models", server.models.path, "--model", "people", picture.path],
            environment: environment)
        #expect(text.text.contains("who: \"persons\" is not among the models here"), "\(text.text.prefix(400))")
        #expect(server.daemon.stop() == 0)
    }
}
