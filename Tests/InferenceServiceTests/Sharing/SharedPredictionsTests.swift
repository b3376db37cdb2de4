import FlowControl
import Foundation
import HTTPServer
import HTTPWire
import ImagePipeline
import Inference
import InferenceService
internal import Repository
internal import ServiceCore
import Settings
import SystemSupport
internal import Tasks
import Teaching
import TestSupport
import Testing

/// Equal requests: one prediction for concurrent ones, and cached answers with `answer_cache` (docs/http-api.md,
/// "Answers that are known already").
@Suite(.timeLimit(.minutes(3))) struct SharedPredictionsTests {
    private typealias World = OpenInferenceHandlersTests.World
    private typealias Reply = OpenInferenceHandlersTests.Reply

    private static let seven = SharedData.packageRoot.appendingPathComponent("examples/seven.png")

    private static func picture() throws -> [UInt8] { Array(try Data(contentsOf: seven)) }

    /// Sends a request with an identifier and a client.
    private static func ask(
        _ service: Service, _ line: String, _ body: [UInt8], fields: String = "", id: String = "r",
        client: String = "192.0.2.1:1"
    ) async throws -> Reply {
        let head = try Requests.head("\(line) HTTP/1.1\nHost: x\(fields)")
        switch service.admit(head, requestID: id, from: RequestSource(remote: client)) {
        case .answer(let response): return Reply(response)
        case .accept(_, let handler):
            let now = MonotonicInstant.now
            return Reply(
                await handler(
                    HTTPRequest(
                        head: head, body: HTTPBody(body), requestID: id, remote: client, headReceived: now,
                        bodyReceived: now)))
        }
    }

    private static func count(_ world: World, _ result: String) async throws -> Int {
        let page = try await world.answer("GET /metrics").text
        let line = page.split(separator: "\n").first {
            $0.hasPrefix("ocelli_shared_answers_total{result=\"\(result)\"}")
        }
        return try #require(line?.split(separator: " ").last.flatMap { Int($0) })
    }

    /// Takes all slots of a model, so that requests wait.
    private static func slots(_ world: World, _ model: String) async throws -> [Slot] {
        let limiter = try await world.repository.model(named: model).limiter
        var slots: [Slot] = []
        while let slot = limiter.tryAcquire() { slots.append(slot) }
        return slots
    }

    private func until(_ condition: () async throws -> Bool) async throws {
        for _ in 0..<10_000 {
            if try await condition() { return }
            try await Task.sleep(for: .milliseconds(2))
        }
        Issue.record("it never held")
    }

    // MARK: Cached answers

    @Test("an equal request gets the cached answer, with its own id and total")
    func hit() async throws {
        let world = try await World { $0.answerCache = 1 << 20 }
        let body = try Self.picture()
        let first = try await Self.ask(world.service, "POST /v1/models/digits/classify", body, id: "first")
        let second = try await Self.ask(world.service, "POST /v1/models/digits/classify", body, id: "second-longer")
        #expect(first["Cache-Status"] == "ocelli; fwd=miss")
        #expect(second["Cache-Status"] == "ocelli; hit")
        #expect(first.json["request_id"] as? String == "first")
        #expect(second.json["request_id"] as? String == "second-longer")
        let labels = try [first, second].map { try #require($0.json["classifications"] as? NSArray) }
        #expect(labels[0] == labels[1] && (labels[0].firstObject as? NSDictionary)?["label"] as? String == "7")
        let times = try [first, second].map { try #require($0.json["timing_ms"] as? [String: Double]) }
        #expect(times[0]["inference"] == times[1]["inference"])
        #expect(times[1]["total"] != times[0]["total"])
        #expect(try await world.answer("GET /metrics").text.contains("ocelli_pictures_total{model=\"digits\"} 1\n"))
        #expect(try await Self.count(world, "hit") == 1)
    }

    @Test("each answer of a list has its own id")
    func list() async throws {
        let world = try await World { $0.answerCache = 1 << 20 }
        let picture = try Self.picture()
        let part = Array("--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"p\"\r\n\r\n".utf8)
        let end = Array("\r\n".utf8)
        let body = part + picture + end + part + picture + end + Array("--b--\r\n".utf8)
        for (id, status) in [("a", "ocelli; fwd=miss"), ("bcd", "ocelli; hit")] {
            let reply = try await Self.ask(
                world.service, "POST /v1/models/digits/classify", body,
                fields: "\nContent-Type: multipart/form-data; boundary=b", id: id)
            #expect(reply["Cache-Status"] == status)
            let results = try #require(reply.json["results"] as? [[String: Any]])
            #expect(results.map { $0["request_id"] as? String } == [id, id])
            #expect(reply.json["request_id"] as? String == id)
        }
        // A broken part is an error of the request, so the answer is cached.
        let broken = part + picture + end + part + Array("no picture".utf8) + end + Array("--b--\r\n".utf8)
        for status in ["ocelli; fwd=miss", "ocelli; hit"] {
            let reply = try await Self.ask(
                world.service, "POST /v1/models/digits/classify", broken,
                fields: "\nContent-Type: multipart/form-data; boundary=b")
            #expect(reply.status == 200 && reply["Cache-Status"] == status)
        }
    }

    @Test("a request with any difference is computed")
    func differences() async throws {
        let world = try await World { $0.answerCache = 1 << 20 }
        let body = try Self.picture()
        let line = "POST /v1/models/digits/classify"
        _ = try await Self.ask(world.service, line, body)
        for (line, body, fields, client) in [
            (line + "?top=2", body, "", "192.0.2.1:1"),
            (line, body + [0], "", "192.0.2.1:1"),
            (line, body, "\nAccept: image/png", "192.0.2.1:1"),
            (line, body, "\nContent-Type: image/png", "192.0.2.1:1"),
            (line, body, "", "192.0.2.2:1"), (line, body, "", "[2001:db8::1]:1"), (line, body, "", "[2001:db8::2]:1"),
            ("POST /v1/models/digits/versions/1/classify", body, "", "192.0.2.1:1"),
            ("POST /v1/models/digits/predict", body, "", "192.0.2.1:1"),
        ] {
            let reply = try await Self.ask(world.service, line, body, fields: fields, client: client)
            #expect(reply["Cache-Status"] == "ocelli; fwd=miss", "\(line) \(fields) \(client)")
        }
        #expect(
            try await Self.ask(world.service, line, body, fields: "\nCache-Control: no-store")["Cache-Status"]
                == "ocelli; fwd=miss")
        // Another port is the same client.
        #expect(try await Self.ask(world.service, line, body, client: "192.0.2.1:2")["Cache-Status"] == "ocelli; hit")
        var settings = Settings()
        settings.answerCache = 1 << 20
        world.service.use(LiveSettings(settings: settings, access: .open))
        #expect(
            try await world.answer("GET /metrics").text.contains("\nocelli_kept_answers 0\n"),
            "answers by settings that are gone take no memory")
        #expect(
            try await Self.ask(world.service, line, body)["Cache-Status"] == "ocelli; fwd=miss", "other settings")
    }

    @Test("a long body hits if all its bytes are equal, and is computed if one of them differs")
    func longBodies() async throws {
        let world = try await World { $0.answerCache = 1 << 20 }
        let line = "POST /v1/models/digits/classify"
        // Longer than a piece of the hash, and not a multiple of it. Bytes after a picture are not read.
        let body = try Self.picture() + [UInt8](repeating: 7, count: 300_001)
        for status in ["ocelli; fwd=miss", "ocelli; hit"] {
            #expect(try await Self.ask(world.service, line, body)["Cache-Status"] == status)
        }
        for place in [131_071, 131_072, 140_003, 262_144, body.count - 1] {
            var other = body
            other[place] = 8
            let status = try await Self.ask(world.service, line, other)["Cache-Status"]
            #expect(status == "ocelli; fwd=miss", "byte \(place)")
        }
        #expect(try await Self.ask(world.service, line, body)["Cache-Status"] == "ocelli; hit")
    }

    @Test("with cached answers a long body puts its client behind others that wait")
    func longBodiesTakeATurn() async throws {
        let world = try await World { $0.answerCache = 1 << 20 }
        let slots = try await Self.slots(world, "digits")
        let limiter = try await world.repository.model(named: "digits").limiter
        let body = try Self.picture() + [UInt8](repeating: 0, count: 1 << 20)
        let request = Task {
            try await Self.ask(world.service, "POST /v1/models/digits/classify", body, client: "192.0.2.1:1")
        }
        try await until { limiter.snapshot.waiting == 1 }
        let sender = ClientIdentity("192.0.2.1:1", token: nil)
        let claim = Claim(client: Claim(client: sender.number).client == 1 ? 2 : 1)
        let other = Task { try await limiter.acquire(claim: claim) }
        try await until { limiter.snapshot.waiting == 2 }
        slots[0].release()
        // It came later.
        let slot = try await other.value
        #expect(limiter.snapshot.waiting == 1)
        slot.release()
        #expect(try await request.value.status == 200)
        for slot in slots.dropFirst() { slot.release() }
    }

    @Test("errors, explanations and answers without the setting are not cached")
    func notKept() async throws {
        let world = try await World { $0.answerCache = 1 << 20 }
        for _ in 0..<2 {
            let error = try await Self.ask(world.service, "POST /v1/models/digits/classify", Array("none".utf8))
            #expect(error.status == 415 && error["Cache-Status"] == nil)
            let explained = try await Self.ask(
                world.service, "POST /v1/models/digits/classify?explain=preprocess", try Self.picture(), id: "mine")
            #expect(explained["Cache-Status"] == "ocelli; fwd=miss")
            #expect(explained.json["request_id"] as? String == "mine")
        }
        let off = try await World()
        for _ in 0..<2 {
            let reply = try await Self.ask(off.service, "POST /v1/models/digits/classify", try Self.picture())
            #expect(reply.status == 200 && reply["Cache-Status"] == nil)
        }
        #expect(try await off.answer("GET /metrics").text.contains("ocelli_pictures_total{model=\"digits\"} 2\n"))
    }

    @Test("tensors of /v2 are cached too")
    func openInference() async throws {
        let world = try await World { $0.answerCache = 1 << 20 }
        let text = #"{"id": "q", "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]}]}"#
        for status in ["ocelli; fwd=miss", "ocelli; hit"] {
            let reply = try await Self.ask(world.service, "POST /v2/models/bare/infer", Array(text.utf8))
            #expect(reply["Cache-Status"] == status)
            #expect(reply.outputs.first?["data"] as? [Double] == [1, 2, 3])
        }
    }

    // MARK: Concurrent requests

    @Test("equal concurrent requests share one prediction; one that leaves does not end it for the others")
    func collapsed() async throws {
        let world = try await World()
        let slots = try await Self.slots(world, "digits")
        let body = try Self.picture()
        var requests: [Task<Reply, any Error>] = []
        for id in ["one", "two", "three"] {
            // One after the other: the answer is computed for the first, which leaves.
            requests.append(
                Task { try await Self.ask(world.service, "POST /v1/models/digits/classify", body, id: id) })
            try await until { world.service.waitingForAnswers == requests.count }
        }
        let model = try await world.repository.model(named: "digits")
        try await until { model.limiter.snapshot.waiting == 1 }
        requests[0].cancel()
        _ = try await requests[0].value
        #expect(model.limiter.snapshot.waiting == 1)
        for slot in slots { slot.release() }
        for (id, request) in zip(["two", "three"], requests[1...]) {
            let reply = try await request.value
            #expect(reply.status == 200)
            #expect(reply.json["request_id"] as? String == id)
        }
        #expect(try await world.answer("GET /metrics").text.contains("ocelli_pictures_total{model=\"digits\"} 1\n"))
        #expect(try await Self.count(world, "collapsed") == 2)
        #expect(try await Self.count(world, "miss") == 1)
        #expect(model.limiter.snapshot.inFlight == 0)
    }

    @Test("the work is cancelled when the last request leaves")
    func allLeave() async throws {
        let world = try await World()
        let slots = try await Self.slots(world, "digits")
        let body = try Self.picture()
        let requests = (0..<3).map { _ in
            Task { try await Self.ask(world.service, "POST /v1/models/digits/classify", body) }
        }
        try await until { world.service.waitingForAnswers == 3 }
        for request in requests { request.cancel() }
        for request in requests { _ = try await request.value }
        let model = try await world.repository.model(named: "digits")
        try await until { model.limiter.snapshot.waiting == 0 }
        for slot in slots { slot.release() }
        #expect(model.limiter.snapshot.inFlight == 0)
        #expect(try await Self.ask(world.service, "POST /v1/models/digits/classify", body).status == 200)
    }

    @Test("a shared answer has Cache-Status; after a failure the other requests compute their own")
    func statusOfShared() async throws {
        let world = try await World()
        let slots = try await Self.slots(world, "digits")
        let body = try Self.picture()
        func ask(_ query: String, _ body: [UInt8]) -> Task<Reply, any Error> {
            Task { try await Self.ask(world.service, "POST /v1/models/digits/classify\(query)", body) }
        }
        let good = [ask("", body), ask("", body)], bad = [ask("", Array("x".utf8)), ask("", Array("x".utf8))]
        try await until { world.service.waitingForAnswers == 4 }
        for slot in slots { slot.release() }
        var statuses: [String?] = []
        for request in good { statuses.append(try await request.value["Cache-Status"]) }
        #expect(Set(statuses) == [nil, "ocelli; fwd=miss; collapsed"])
        for request in bad {
            let reply = try await request.value
            #expect(reply.status == 415 && reply["Cache-Status"] == nil)
        }
        // After the failure each request computed its own answer.
        #expect(try await Self.count(world, "collapsed") == 1)
        #expect(try await Self.count(world, "miss") == 3)
    }

    @Test("requests never wait for another client's answer")
    func clients() async throws {
        let world = try await World()
        let slots = try await Self.slots(world, "digits")
        let body = try Self.picture()
        let requests = ["192.0.2.1:1", "192.0.2.2:1", "[2001:db8::1]:1"].map { client in
            Task { try await Self.ask(world.service, "POST /v1/models/digits/classify", body, client: client) }
        }
        let model = try await world.repository.model(named: "digits")
        try await until { model.limiter.snapshot.waiting == 3 }
        #expect(try await Self.count(world, "collapsed") == 0)
        for slot in slots { slot.release() }
        for request in requests { #expect(try await request.value.status == 200) }
    }

    // MARK: Versions that are switched

    private static func square(_ pixel: [UInt8]) throws -> [UInt8] {
        try Array(repeatElement(pixel, count: 64).joined()).withUnsafeBytes {
            try PNGEncoder.encode(width: 8, height: 8, channels: 3, pixels: $0)
        }
    }

    /// A version serves for a moment while the key of a long body is hashed: no request after the switch back gets that
    /// version's answer.
    @Test("an answer by a version of a taught model is never given for another version, joined or cached")
    func switchedVersions() async throws {
        let world = try await World {
            $0.answerCache = 64 << 20
        } models: { folder in
            try FileManager.default.copyItem(
                at: SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/observations/embedder"),
                to: folder.appendingPathComponent("embedder"))
        }
        let store = try TaughtStore(folder: world.folder.path + "-taught")
        defer { try? FileManager.default.removeItem(atPath: world.folder.path + "-taught") }
        var settings = Settings()
        settings.answerCache = 64 << 20
        settings.repositoryControl = .all
        let log = try Log(level: .error, format: .text, descriptor: 2)
        let service = Service(
            repository: world.repository,
            taught: TaughtModels(store: store, repository: world.repository, metrics: world.metrics, log: log),
            settings: LiveSettings(settings: settings, access: .open), metrics: world.metrics, log: log)
        func change(_ line: String, _ body: [UInt8]) async throws {
            let reply = try await Self.ask(service, line, body, client: "127.0.0.1:1")
            #expect((200...201).contains(reply.status), "\(line): \(reply.status) \(reply.text)")
        }
        try await change(
            "PUT /v1/taught/parts", Array(#"{"embedder": "embedder", "method": "nearest_mean"}"#.utf8))
        let red = try Self.square([250, 20, 30])
        try await change("POST /v1/taught/parts/examples?label=red", red)
        try await change("POST /v1/taught/parts/examples?label=blue", try Self.square([10, 20, 240]))
        let model = try #require(store.model("parts"))
        let embedder = try await world.repository.model(named: "embedder")
        let line = "POST /v1/models/parts/classify"
        let seed = SplitMix.seed(for: "switchedVersions")
        var random = SplitMix(seed: seed)
        for round in 0..<LongTests.times(20, long: 300) {
            try model.serve(2)
            let slots = try await Self.slots(world, "embedder")
            // Bytes after a picture are not read.
            let body = red + [UInt8](repeating: UInt8(truncatingIfNeeded: round), count: (1 << 20) + round)
            let first = Task { try await Self.ask(service, line, body) }
            try await Task.sleep(for: .microseconds(Int64.random(in: 0..<20_000, using: &random)))
            try model.serve(1)
            try await until { embedder.limiter.snapshot.waiting == 1 }
            try model.serve(2)
            let second = Task { try await Self.ask(service, line, body) }
            try await until { service.waitingForAnswers == 2 }
            for slot in slots { slot.release() }
            #expect(try await first.value.status == 200)
            for reply in [try await second.value, try await Self.ask(service, line, body)] {
                let version = reply.json["version"] as? String
                #expect(version == "2", "round \(round), seed \(seed): \(reply["Cache-Status"] ?? "")")
            }
        }
    }
}
