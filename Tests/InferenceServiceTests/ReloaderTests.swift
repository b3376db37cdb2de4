import Foundation
import HTTPServer
import HTTPWire
import Inference
import InferenceService
import JSON
internal import Repository
internal import ServiceCore
internal import ServicePlanning
import Settings
import Synchronization
import SystemSupport
import TestSupport
import Testing

/// A reload applies new settings as a whole, or not at all.
@Suite(.timeLimit(.minutes(2))) struct ReloaderTests {
    /// The parts that a reload changes, without models and with a readable log.
    private final class World {
        let folder: URL
        let log: Log
        let accessLog: AccessLog
        let service: Service
        let metrics = ServiceMetrics()
        let repository: ModelRepository
        let reloader: Reloader
        let next: Box
        private let pipe = Pipe()

        final class Box: Sendable {
            let settings: Mutex<Result<Settings, CommandError>>
            init(_ settings: Settings) { self.settings = Mutex(.success(settings)) }
        }

        static func settings(_ folder: URL) -> Settings {
            var settings = Settings()
            settings.models = [folder.path]
            settings.cacheDirectory = ""
            settings.loadTrial = false
            settings.maxBody = 1000
            return settings
        }

        init() throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-reload-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let settings = Self.settings(folder)
            log = try Log(level: .info, format: .text, descriptor: pipe.fileHandleForWriting.fileDescriptor)
            accessLog = AccessLog(log, isEnabled: settings.accessLog)
            let plan = ServicePlan(settings: settings, environment: [:])
            repository = ModelRepository(folders: [folder.path], configuration: plan.modelConfiguration)
            service = Service(
                repository: repository, settings: LiveSettings(settings: settings, access: .open), metrics: metrics,
                log: log)
            let next = Box(settings)
            self.next = next
            reloader = Reloader(
                source: { try next.settings.withLock { $0 }.get() }, environment: [:], repository: repository,
                service: service,
                limits: LimitsWatch(
                    plan, server: HTTPServer(configuration: HTTPServerConfiguration(), responder: service), log: log),
                accessLog: accessLog, compiledModels: CompiledModelsLimit(plan, log: log),
                metrics: metrics, log: log)
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        /// Reloads with these changes.
        func reload(_ change: (inout Settings) -> Void) async -> Settings {
            var settings = Self.settings(folder)
            change(&settings)
            next.settings.withLock { [settings] in $0 = .success(settings) }
            return await reloader.reload(from: Self.settings(folder))
        }

        /// The lines that were logged since the last call.
        func lines() async -> String {
            log.error("end of lines \(UUID().uuidString)")
            await log.flush(within: .seconds(10))
            return String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
        }

        func exchange() throws -> ExchangeRecord {
            ExchangeRecord(
                requestID: "the-request", remote: "x", method: .get,
                head: try Requests.head("GET /v1/models HTTP/1.1\nHost: x"), status: .ok, tag: "", note: nil,
                bodyBytesReceived: 0, bodyBytesSent: 0, firstByte: MonotonicInstant(nanoseconds: 0),
                bodyEnd: MonotonicInstant(nanoseconds: 0), responseReady: MonotonicInstant(nanoseconds: 0),
                end: MonotonicInstant(nanoseconds: 0), outcome: .answered)
        }

        /// The status of an answer to a request's head, or the maximum length of its body.
        func admission(_ head: String) throws -> Int {
            switch service.admit(try Requests.head(head), requestID: "r", from: RequestSource(remote: "127.0.0.1:4242"))
            {
            case .accept(let maximum, _): maximum
            case .answer(let response): response.status.code
            }
        }
    }

    private static let index = "POST /v2/repository/index HTTP/1.1\nHost: x"

    @Test("a reload turns access lines on and off", arguments: [true, false])
    func accessLinesAreTurnedOnAndOff(isOn: Bool) async throws {
        let world = try World()
        world.accessLog.use(isEnabled: !isOn)
        world.accessLog.write(try world.exchange(), route: "/v1/models")
        #expect(await world.lines().contains("the-request") == !isOn)
        let settings = await world.reload { $0.accessLog = isOn }
        #expect(settings.accessLog == isOn)
        _ = await world.lines()
        world.accessLog.write(try world.exchange(), route: "/v1/models")
        #expect(await world.lines().contains("the-request") == isOn)
    }

    @Test("a reload changes the log's level and format")
    func theLogsLevelAndFormat() async throws {
        let world = try World()
        _ = await world.reload {
            $0.logLevel = .debug
            $0.logFormat = .json
        }
        _ = await world.lines()
        world.log.debug("a debug line")
        #expect(await world.lines().contains(#""level":"debug","message":"a debug line""#))
        #expect(world.log.isEnabled(.debug))
        _ = await world.reload { $0.logLevel = .warning }
        #expect(!world.log.isEnabled(.notice) && world.log.isEnabled(.warning))
    }

    @Test("after a reload requests obey the new settings, and settings that need a restart are logged")
    func requestsAreAnsweredByTheNewSettings() async throws {
        let world = try World()
        let tokens = world.folder.appendingPathComponent("tokens").path
        try "all a-token-of-this-test".write(toFile: tokens, atomically: true, encoding: .utf8)
        #expect(try world.admission(Self.index) == 1000)
        let settings = await world.reload {
            $0.tokensFile = tokens
            $0.maxBody = 500
            $0.maxHeader = 700
            $0.listen = ["127.0.0.1:1"]
            $0.trustedProxies = ["10.0.0.0/8"]
            $0.deadline = 0.5
            $0.maxDeadline = 0.5
            $0.defaultModel = "nosuch"
        }
        #expect(settings.maxDeadline == 0.5)
        #expect(settings.maxBody == 500)
        #expect(settings.maxHeader == Settings().maxHeader, "only a restart changes it")
        #expect(try world.admission(Self.index) == 401)
        let token = "\nAuthorization: Bearer a-token-of-this-test"
        #expect(try world.admission(Self.index + token) == 500)
        // The longest deadline, and the default model.
        let classify = "POST /v1/classify?timeout_ms=501 HTTP/1.1\nHost: x" + token
        #expect(try world.admission(classify) == 400)
        #expect(try world.admission(classify.replacingOccurrences(of: "501", with: "500")) == 404)
        let log = await world.lines()
        #expect(log.contains("takes effect after a restart: listen, max_header, trusted_proxies"), "\(log)")
        #expect(log.contains("reload: done"))
        #expect(world.metrics[.reloadsSucceeded] == 1 && world.metrics[.reloadsFailed] == 0)
        #expect(world.metrics[.lastReloadSucceeded] == 1)
    }

    /// New models, and models with changed files, serve when the reload is done.
    @Test("a reload loads new and changed models and keeps unchanged models")
    func modelsAreLoaded() async throws {
        let world = try World()
        let bundle = world.folder.appendingPathComponent("digits")
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("models/digits"), to: bundle)
        _ = await world.reload { _ in }
        let first = try #require(world.repository.records.first { $0.name == "digits" }?.model)
        _ = await world.reload { _ in }
        #expect(world.repository.records.first?.model === first, "nothing has changed")
        let manifest = bundle.appendingPathComponent("model.json")
        let text = try String(contentsOf: manifest, encoding: .utf8)
        try (text + "\n").write(to: manifest, atomically: true, encoding: .utf8)
        _ = await world.reload { _ in }
        let second = try #require(world.repository.records.first?.model)
        #expect(second !== first)
    }

    @Test("a reload with any mistake changes no setting and counts as failed")
    func whereSomethingIsWrongNothingChanges() async throws {
        let world = try World()
        let missing = world.folder.appendingPathComponent("missing").path
        let mistakes: [(inout Settings) -> Void] = [{ $0.tokensFile = missing }, { $0.models = [missing] }]
        for mistake in mistakes {
            let settings = await world.reload {
                mistake(&$0)
                $0.accessLog = false
                $0.logFormat = .json
                $0.maxDeadline = 0.001
            }
            #expect(settings == World.settings(world.folder))
        }
        world.next.settings.withLock { $0 = .failure(CommandError("the file is wrong")) }
        _ = await world.reloader.reload(from: World.settings(world.folder))
        let log = await world.lines()
        #expect(log.contains("the file is wrong; nothing has changed") && !log.contains("{"), "\(log)")
        #expect(try world.admission("POST /v1/classify?timeout_ms=500 HTTP/1.1\nHost: x") == 404)
        world.accessLog.write(try world.exchange(), route: "/v1/models")
        #expect(await world.lines().contains("the-request"))
        #expect(world.metrics[.reloadsFailed] == 3 && world.metrics[.reloadsSucceeded] == 0)
        #expect(world.metrics[.lastReloadSucceeded] == 0)
        _ = await world.reload { _ in }
        #expect(world.metrics[.lastReloadSucceeded] == 1)
    }
}

/// The deadline and the form of a request.
@Suite struct PredictionRequestTests {
    /// The time of a slow upload is the client's own.
    @Test("a request's deadline counts from the end of its body, not from its head")
    func theDeadlineCountsFromTheBodysEnd() throws {
        let request = try Requests.request("POST / HTTP/1.1\nHost: x", head: 1_000_000_000, body: 7_000_000_000)
        #expect(request.deadline(300, usual: 2).nanoseconds == 7_300_000_000)
        #expect(request.deadline(usual: 2).nanoseconds == 9_000_000_000)
    }

    @Test(
        "the Accept field decides by its ranges and qualities whether the answer is a PNG",
        arguments: [
            ("image/png", true), ("text/html, Image/PNG;q=0.5", true), ("image/png; q=0", false),
            ("image/png;q=0.0", false),
            ("*/*", false), ("image/pngx", false), ("", false), ("text/html\nAccept: image/png", true),
            ("image/png, application/json", true), ("application/json, image/png;q=0.9", false), ("image/jpeg", false),
            ("image/png;q=0.9, */*;q=0.1", true), ("image/png;q=0.1, */*", true),
            ("image/png;q=0.1, application/*", false),
            ("image/*;q=0.5, */*", false),
            ("image/*", true), ("image/*, application/json", false), ("image/avif, image/*;q=0.8, */*;q=0.5", true),
            ("image/*, image/png;q=0", false),
        ])
    func acceptAsksForAPicture(_ accept: String, _ expected: Bool) throws {
        let request = try Requests.request("POST / HTTP/1.1\nHost: x\nAccept: \(accept)")
        #expect(request.accepts("image/png") == expected)
    }

    @Test(
        "the Accept field decides by its ranges and qualities whether the answer is raw bytes",
        arguments: [
            ("application/octet-stream", true), ("application/*", false), ("application/octet-stream, */*", true),
            ("application/octet-stream;q=0.5, application/json", false),
            ("application/*, application/json;q=0.5", true),
        ])
    func acceptAsksForBytes(_ accept: String, _ expected: Bool) throws {
        let request = try Requests.request("POST / HTTP/1.1\nHost: x\nAccept: \(accept)")
        #expect(request.accepts("application/octet-stream") == expected)
    }
}
