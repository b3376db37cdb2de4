import Dispatch
import FlowControl
import Foundation
import HTTPServer
import HTTPWire
import Inference
import InferenceService
internal import ServiceCore
import Settings
import TestSupport
import Testing

/// The thread on which requests compute: in the work queue, on a thread of low priority, or on the current thread.
@Suite(.timeLimit(.minutes(3))) struct RoutesOfWorkTests {
    private typealias World = OpenInferenceHandlersTests.World
    private typealias Reply = OpenInferenceHandlersTests.Reply

    /// A service with one place in its work queue, which is taken until a test opens it.
    private final class Closed: Sendable {
        let world: World
        let service: Service
        let queue = WorkQueue(atOnce: 1)
        private let gate = DispatchSemaphore(value: 0)
        private let first: Task<Void, any Error>

        init(models: (URL) throws -> Void = { _ in }) async throws {
            let world = try await World({ $0.dialects = Dialect.allCases }, models: models)
            var settings = Settings()
            settings.dialects = Dialect.allCases
            settings.maxBatch = 4
            settings.hostNames = ["x"]
            self.world = world
            service = Service(
                repository: world.repository, settings: LiveSettings(settings: settings, access: .open), work: queue,
                metrics: ServiceMetrics(), log: try Log(level: .error, format: .text, descriptor: 2))
            let (queue, gate) = (queue, gate)
            first = Task { try await queue.run(for: .usual, until: nil) { _ in gate.wait() } }
            #expect(eventually { queue.snapshot.inFlight == 1 })
        }

        func open() async throws {
            gate.signal()
            try await first.value
        }
    }

    private static let seven = SharedData.packageRoot.appendingPathComponent("examples/seven.png")

    private static func picture() throws -> [UInt8] { Array(try Data(contentsOf: seven)) }

    /// A form with a picture, and a part of some length that is not a parameter.
    private static func form(_ length: Int) throws -> (body: [UInt8], fields: String) {
        var body = Data("--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"p\"\r\n\r\n".utf8)
        body += Data(try picture()) + Data("\r\n--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\n".utf8)
        body += Data(repeating: 0x61, count: length) + Data("\r\n--b--\r\n".utf8)
        return (Array(body), "\nContent-Type: multipart/form-data; boundary=b")
    }

    // MARK: The queue

    /// Resources with short answers to GET.
    private static let small = ["/v2", "/v2/models/{name}/ready"]

    @Test("every GET in the table that is not answered on the event loop waits in the work queue")
    func listsAndDescriptionsWait() async throws {
        let closed = try await Closed()
        var waiting: [(line: String, answer: Task<Reply, any Error>)] = []
        for resource in Service.routes.resources where !Self.small.contains(resource.label) {
            guard let method = resource.method(.get) else { continue }
            let path = resource.label.replacing("{name}", with: "digits").replacing("{version}", with: "1")
                .replacing("{label}", with: "stable").replacing("{id}", with: "1")
            let line = "GET \(path)"
            let head = try Requests.head("\(line) HTTP/1.1\nHost: x")
            // Answered on the event loop.
            if case .answer = closed.service.admit(head, requestID: "r", from: RequestSource(remote: "127.0.0.1:1")) {
                continue
            }
            let count = closed.queue.snapshot.waiting
            let answer = Task { try await closed.world.answer(line, by: closed.service) }
            #expect(
                eventually { closed.queue.snapshot.waiting == count + 1 }, "\(line) (\(method.operation))")
            waiting.append((line, answer))
        }
        #expect(waiting.count >= 10, "\(waiting.map(\.line))")
        try await closed.open()
        for (line, answer) in waiting {
            let reply = try await answer.value
            #expect([200, 404].contains(reply.status), "\(line): \(reply.text.prefix(200))")
        }
        #expect(waiting.map(\.line).contains("GET /metrics"))
    }

    @Test("indexes, large forms and long bodies without a slot wait in the work queue")
    func bodiesWait() async throws {
        let closed = try await Closed()
        let (form, fields) = try Self.form(WorkQueue.shortForm)
        let long = Array("{\"parameters\": {\"x\": \"\(String(repeating: "a", count: WorkQueue.shortText))\"}}".utf8)
        let cases: [(line: String, body: [UInt8], fields: String, status: Int)] = [
            ("POST /v2/repository/index", [], "", 200),
            ("POST /v1/models/digits/classify", form, fields, 200),
            ("POST /v1/models/digits/predict", form, fields, 200),
            ("POST /v1/vision/scene", form, fields, 200),
            ("POST /v2/repository/models/digits/load", long, "", 200),
            ("PUT /v1/models/digits/rollout", long, "", 400),
        ]
        var waiting: [Task<Reply, any Error>] = []
        for (line, body, fields, _) in cases {
            let count = closed.queue.snapshot.waiting
            waiting.append(Task { try await closed.world.answer(line, body, fields: fields, by: closed.service) })
            #expect(eventually { closed.queue.snapshot.waiting == count + 1 }, "\(line)")
        }
        try await closed.open()
        for (one, answer) in zip(cases, waiting) {
            let reply = try await answer.value
            #expect(reply.status == one.status, "\(one.line): \(reply.text.prefix(200))")
        }
    }

    @Test("predictions of short requests are answered while the work queue is full, without another thread")
    func shortRequestsDoNotWait() async throws {
        let closed = try await Closed()
        let (form, fields) = try Self.form(100)
        let started = LongDecoding.count
        let cases: [(line: String, body: [UInt8], fields: String)] = [
            ("POST /v1/models/digits/classify", try Self.picture(), ""),
            ("POST /v1/models/digits/classify", form, fields),
            ("POST /v1/models/rows/predict", Array("{\"inputs\": {\"x\": [1, 2, 3]}}".utf8), ""),
            ("POST /v1/models/rows:predict", Array("{\"instances\": [[1, 2, 3]]}".utf8), ""),
            (
                "POST /v2/models/rows/infer",
                Array(
                    "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [1, 3], \"data\": [1, 2, 3]}]}"
                        .utf8), ""
            ),
            ("GET /healthz", [], ""), ("GET /readyz", [], ""), ("GET /v2", [], ""),
            ("GET /v2/models/digits/ready", [], ""),
        ]
        for (line, body, fields) in cases {
            let reply = try await closed.world.answer(line, body, fields: fields, by: closed.service)
            #expect(reply.status == 200, "\(line): \(reply.text.prefix(200))")
        }
        #expect(LongDecoding.count == started)
        #expect(closed.queue.snapshot.counters.arrived == 1)
        try await closed.open()
    }

    // MARK: In a slot

    /// Rows of three numbers, as text of more than ``WorkQueue/shortText`` bytes.
    private static func numbers(_ count: Int) -> String {
        Array(repeating: "0.25", count: count).joined(separator: ",")
    }

    @Test("long work in a slot runs on its own thread, not on Swift's pool")
    func longWorkInASlotHasAThread() async throws {
        let closed = try await Closed(models: { folder in
            try IdentityModel.write("f32", named: "wide", shape: [1, 9000], into: folder)
        })
        let picture = try Self.picture()
        let rows = "[\(Self.numbers(9000))]"
        let input = "{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [1, 9000], \"data\": \(rows)}"
        let packed = try Shell.run("gzip", ["-c"], input: Data("{\"inputs\": [\(input)]}".utf8)).output
        let binary = [UInt8](repeating: 0, count: 36_000)
        let header =
            "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [1, 9000], "
            + "\"parameters\": {\"binary_data_size\": 36000}}]}"
        // The number of threads: for reading, and for writing.
        let cases: [(line: String, body: [UInt8], fields: String, threads: UInt64)] = [
            ("POST /v1/models/digits/classify?explain=png", picture, "", 2),
            ("POST /v1/models/digits/classify?explain=npy", picture, "", 2),
            ("POST /v1/models/digits/classify?explain=preprocess", picture, "", 2),
            ("POST /v1/models/wide/predict", Array("{\"inputs\": {\"x\": \(rows)}}".utf8), "", 2),
            ("POST /v1/models/wide:predict", Array("{\"instances\": [\(rows)]}".utf8), "", 2),
            ("POST /v2/models/wide/infer", Array("{\"inputs\": [\(input)]}".utf8), "", 2),
            ("POST /v2/models/wide/infer", Array(packed), "\nContent-Encoding: gzip", 2),
            (
                "POST /v2/models/wide/infer", Array(header.utf8) + binary,
                "\nInference-Header-Content-Length: \(header.utf8.count)", 1
            ),
            ("POST /v2/models/wide/infer", Array("{\"inputs\": [\(input), 7]}".utf8), "", 1),
        ]
        for (line, body, fields, threads) in cases {
            let before = LongDecoding.count
            let reply = try await closed.world.answer(line, body, fields: fields, by: closed.service)
            let isMistake = String(decoding: body.suffix(4), as: UTF8.self).contains("7")
            #expect(reply.status == (isMistake ? 400 : 200), "\(line): \(reply.text.prefix(200))")
            #expect(LongDecoding.count == before + threads, "\(line) \(fields)")
        }
        #expect(closed.queue.snapshot.counters.arrived == 1)
        try await closed.open()
    }

    @Test("a body of only spaces is not scanned before there is a slot")
    func spaceIsNotLookedThrough() async throws {
        let world = try await World()
        let space = [UInt8](repeating: 0x20, count: 100_000)
        let json = try await world.answer(
            "POST /v1/models/rows/predict", space + Array("{\"inputs\": {\"x\": [1, 2, 3]}}".utf8))
        #expect(json.status == 200, "\(json.text)")
        let nothing = try await world.answer("POST /v1/models/rows/predict", space)
        #expect(nothing.status == 400 && nothing.error.contains("JSON"), "\(nothing.text)")
    }

    @Test("a query of more than 100 parameters is refused")
    func parametersAreCounted() async throws {
        let world = try await World()
        let many = (1...100).map { _ in "top=1" }.joined(separator: "&")
        let fits = try await world.answer("POST /v1/models/digits/classify?" + many, try Self.picture())
        #expect(fits.status == 200, "\(fits.text)")
        let reply = try await world.answer("POST /v1/models/digits/classify?top=1&" + many, try Self.picture())
        #expect(reply.status == 400 && reply.error.contains("more than 100 parameters: 101"), "\(reply.text)")
    }
}
