import Foundation
import HTTPServer
import Inference
import InferenceService
internal import Repository
import Rollout
internal import ServiceCore
import Settings
import Synchronization
import SystemSupport
import Testing

/// Requests assigned to a candidate that fails or is late.
@Suite(.timeLimit(.minutes(2))) struct CandidateShareTests {
    private typealias Reply = OpenInferenceHandlersTests.Reply

    /// A service with the model "m": version 1 serves, and the candidate, version 2, is assigned all requests.
    private final class Scene: Sendable {
        let folder: URL
        let engine = FailingEngine()
        let repository: ModelRepository
        private let service: Service

        init(deadline: Double = 60, answerCache: Int = 0) async throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
            for version in ["1", "2"] {
                let place = folder.appendingPathComponent("m/\(version)")
                try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
                try Data(version.utf8).write(to: place.appendingPathComponent("m.onnx"))
            }
            var configuration = ModelConfiguration()
            configuration.engine = engine
            repository = ModelRepository(folders: [folder.path], configuration: configuration)
            try repository.discover()
            await repository.loadEager()
            var candidate = RolloutPlan.Candidate(version: "2")
            candidate.share = 1
            var plan = RolloutPlan()
            plan.serve = "1"
            plan.candidate = candidate
            try await repository.setRollout(of: "m", plan, deadline: .now + .seconds(60))
            var settings = Settings()
            settings.deadline = deadline
            settings.answerCache = answerCache
            service = Service(
                repository: repository, settings: LiveSettings(settings: settings, access: .open),
                metrics: ServiceMetrics(), log: try Log(level: .error, format: .text, descriptor: 2))
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        func infer(_ number: Int = 1, version: String? = nil) async throws -> Reply {
            let model = version.map { "m/versions/\($0)" } ?? "m"
            let head = try Requests.head("POST /v2/models/\(model)/infer HTTP/1.1\nHost: x")
            let body = """
                {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [\(number), 2, 3, 4]}]}
                """
            switch service.admit(head, requestID: "r", from: RequestSource(remote: "127.0.0.1:4242")) {
            case .answer(let response): return Reply(response)
            case .accept(_, let handler):
                return Reply(
                    await handler(
                        HTTPRequest(
                            head: head, body: HTTPBody(Array(body.utf8)), requestID: "r", remote: "127.0.0.1:4242",
                            headReceived: .now, bodyReceived: .now)))
            }
        }

        /// The rollout once the candidate is rolled back; its current state after a timeout.
        func rolledBack() async throws -> RolloutMachine {
            for _ in 0..<5_000 {
                let machine = try repository.rolloutStatus(of: "m").view.machine
                if machine.state == .rolledBack { return machine }
                try await Task.sleep(for: .milliseconds(2))
            }
            return try repository.rolloutStatus(of: "m").view.machine
        }
    }

    @Test("a candidate is rolled back for an error only if the serving version answers the same request")
    func anErrorOfBothVersionsIsForgiven() async throws {
        let scene = try await Scene()
        let good = try await scene.infer()
        #expect(good.status == 200 && good.json["model_version"] as? String == "2", "\(good.text)")
        scene.engine.failures.withLock { $0 = ["1": "both fail", "2": "both fail"] }
        let lost = try await scene.infer()
        #expect(lost.status == 500 && lost.error.contains("both fail"), "\(lost.text)")
        #expect(try scene.repository.rolloutStatus(of: "m").view.machine.state == .comparing)
        // A rollback for the first error would come earlier, and have its reason.
        scene.engine.failures.withLock { $0 = ["2": "only one fails"] }
        let saved = try await scene.infer()
        #expect(saved.status == 200 && saved.json["model_version"] as? String == "1", "\(saved.text)")
        let machine = try await scene.rolledBack()
        #expect(machine.state == .rolledBack)
        #expect(machine.record.reason?.contains("only one fails") == true, "\(machine.record)")
        let after = try await scene.infer()
        #expect(after.status == 200 && after.json["model_version"] as? String == "1", "\(after.text)")
    }

    @Test(
        "a candidate that twice in succession does not answer its share in time is rolled back"
    )
    func aCandidateThatIsLateIsRolledBack() async throws {
        let scene = try await Scene(deadline: 1.5)
        #expect(try await scene.infer(version: "1").status == 200)
        func isLate() async throws -> Bool {
            scene.engine.hanging.withLock { $0 = ["2"] }
            return try await scene.infer().status == 504
        }
        #expect(try await isLate())
        scene.engine.hanging.withLock { $0 = [] }
        let inTime = try await scene.infer()
        #expect(inTime.status == 200 && inTime.json["model_version"] as? String == "2", "\(inTime.text)")
        #expect(try await isLate())
        #expect(try scene.repository.rolloutStatus(of: "m").view.machine.state == .comparing)
        #expect(try await isLate())
        let machine = try await scene.rolledBack()
        #expect(machine.state == .rolledBack)
        #expect(machine.record.reason?.contains("before the request's deadline") == true, "\(machine.record)")
        let after = try await scene.infer()
        #expect(after.status == 200 && after.json["model_version"] as? String == "1", "\(after.text)")
    }

    @Test("a cached answer of a candidate between two late ones does not reset the count of late answers")
    func aKeptAnswerProvesNothing() async throws {
        let scene = try await Scene(deadline: 1.5, answerCache: 1 << 20)
        #expect(try await scene.infer(version: "1").status == 200)
        #expect(try await scene.infer(1).status == 200)
        scene.engine.hanging.withLock { $0 = ["2"] }
        #expect(try await scene.infer(2).status == 504)
        let kept = try await scene.infer(1)
        #expect(kept.status == 200 && kept["Cache-Status"]?.contains("hit") == true, "\(kept.text)")
        #expect(try await scene.infer(3).status == 504)
        #expect(try await scene.rolledBack().state == .rolledBack)
    }

    @Test("a candidate that does not answer its requests within short deadlines is not rolled back for it")
    func shortDeadlinesProveNothing() async throws {
        let scene = try await Scene(deadline: 0.2)
        #expect(try await scene.infer(version: "1").status == 200)
        scene.engine.hanging.withLock { $0 = ["2"] }
        for _ in 0..<3 { #expect(try await scene.infer().status == 504) }
        try await Task.sleep(for: .milliseconds(200))
        #expect(try scene.repository.rolloutStatus(of: "m").view.machine.state == .comparing)
    }
}

/// An engine with models that answer zeros, and fail when a test says so.
private final class FailingEngine: Engine {
    let version = "fake 1"
    let comparesStreams = false
    /// The reasons of failing inferences, by the model's version.
    let failures = Mutex<[String: String]>([:])
    /// The versions with inferences that end only by cancellation.
    let hanging = Mutex<Set<String>>([])

    func availableDevices() throws(EngineError) -> [ComputeDevice] {
        [ComputeDevice(name: "FAKE", fullName: "a test's own", capabilities: [])]
    }

    func read(_ source: ModelSource) throws(EngineError) -> any ModelFile {
        let folder = source.path.split(separator: "/").dropLast().last
        return FailingFile(engine: self, folder: folder.map(String.init) ?? "")
    }
}

private struct FailingFile: ModelFile {
    let engine: FailingEngine
    let folder: String
    let inputs = [TensorPort(name: "x", elementType: .float32, shape: [1, 4])]
    let outputs = [TensorPort(name: "y", elementType: .float32, shape: [1, 4])]

    func inputIndex(named name: String) -> Int? { inputs.firstIndex { $0.name == name } }
    func outputIndex(named name: String) -> Int? { outputs.firstIndex { $0.name == name } }
    func compile(_ options: CompileOptions) throws(EngineError) -> any CompiledModel { FailingModel(file: self) }
}

private struct FailingModel: CompiledModel {
    let file: FailingFile
    let optimalRequestCount = 1
    let loadedFromCache = false
    let executionDevices = "FAKE"
    var inputs: [TensorPort] { file.inputs }
    var outputs: [TensorPort] { file.outputs }

    func makeRequest() throws(EngineError) -> any InferRequest { FailingRequest(file) }
    func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor {
        ZeroTensor(elementType: elementType, shape: shape)
    }
}

private final class FailingRequest: InferRequest {
    private let file: FailingFile

    /// The completion of an inference that hangs.
    private let waiting = Mutex<(@Sendable () -> Void)?>(nil)
    private let wasCancelled = Atomic(false)

    init(_ file: FailingFile) { self.file = file }

    func setInput(_ index: Int, to tensor: any EngineTensor) throws(EngineError) {}
    func start(completion: @escaping @Sendable () -> Void) throws(EngineError) {
        guard file.engine.hanging.withLock({ $0.contains(file.folder) }) else { return completion() }
        waiting.withLock { $0 = completion }
    }
    func finish() throws(EngineError) {
        if wasCancelled.exchange(false, ordering: .relaxed) {
            throw EngineError(kind: .cancelled, operation: "run the inference", detail: "it was cancelled")
        }
        guard let reason = file.engine.failures.withLock({ $0[file.folder] }) else { return }
        throw EngineError(kind: .failure, operation: "run the inference", detail: reason)
    }
    func cancel() {
        let completion = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
        guard let completion else { return }
        wasCancelled.store(true, ordering: .relaxed)
        completion()
    }
    func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R {
        let zeros = [Float](repeating: 0, count: 4)
        return zeros.withUnsafeBytes { body([1, 4], $0) }
    }
    func profile() throws(EngineError) -> [LayerProfile] { [] }
}
