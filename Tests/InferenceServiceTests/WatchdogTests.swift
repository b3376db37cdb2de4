import Foundation
import Inference
import InferenceService
internal import Repository
internal import ServiceCore
import Synchronization
import Testing

/// The watchdog's decision if a model's answer to a golden differs while it serves.
@Suite(.timeLimit(.minutes(2))) struct WatchdogTests {
    /// A red picture of two by two pixels.
    private static let picture =
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg=="

    /// A model of two classes with one golden, and its watchdog.
    private final class Scene: Sendable {
        let folder: URL
        let repository: ModelRepository
        let watchdog: Watchdog
        let engine = ErringEngine()
        let metrics = ServiceMetrics()
        private let pipe = Pipe()

        init(hasGolden: Bool = true) async throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
            let bundle = folder.appendingPathComponent("m"), golden = bundle.appendingPathComponent("golden")
            try FileManager.default.createDirectory(at: golden, withIntermediateDirectories: true)
            for (name, text) in [
                (
                    "model.json",
                    """
                    { "name": "m", "id": "m", "version": "1", "model": { "file": "m.onnx", "backend": "onnx" },
                      "inputs": [ { "name": "image", "type": "image", "shape": [2, 2, 3], "format": "RGB" } ],
                      "outputs": [ { "name": "scores", "type": "array", "shape": [-1, 2], "labels": "labels.txt" } ] }
                    """
                ),
                ("labels.txt", "good\nbad\n"), ("m.onnx", ""),
                ("golden/expected.jsonl", "{\"file\": \"red.png\", \"label\": \"good\"}\n"),
            ] {
                try Data(text.utf8).write(to: bundle.appendingPathComponent(name))
            }
            try #require(Data(base64Encoded: WatchdogTests.picture)).write(to: golden.appendingPathComponent("red.png"))
            if !hasGolden { try FileManager.default.removeItem(at: golden) }
            var configuration = ModelConfiguration()
            configuration.engine = engine
            configuration.comparesStreams = false
            repository = ModelRepository(folders: [folder.path], configuration: configuration)
            watchdog = Watchdog(
                manager: ServiceManager(environment: [:]), repository: repository, metrics: metrics,
                log: try Log(level: .error, format: .text, descriptor: pipe.fileHandleForWriting.fileDescriptor))
            try repository.discover()
            await repository.loadEager()
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        /// Makes the serving model answer wrongly, calls the watchdog once, and waits until another one serves.
        func goWrong(_ turn: inout Int, score: Float = 0.9) async throws -> Bool {
            let model = try await repository.model(named: "m")
            engine.spoilLoaded(with: score)
            let isAlive = await watchdog.isAlive(turn: &turn)
            var next = model
            for _ in 0..<2_000 where next === model {
                try await Task.sleep(for: .milliseconds(5))
                next = try await repository.model(named: "m")
            }
            #expect(next !== model, "it was not loaded again")
            return isAlive
        }
    }

    @Test("after a golden differs the watchdog is still fed; after it differs again, never, whatever is ready")
    func aVersionThatDiffersTwiceIsNotTrustedAgain() async throws {
        let scene = try await Scene()
        var turn = 0
        let isAliveBefore = await scene.watchdog.isAlive(turn: &turn)
        #expect(isAliveBefore)
        let isAliveAtFirst = try await scene.goWrong(&turn)
        #expect(isAliveAtFirst, "the first difference")
        for _ in 0..<3 {
            let isAlive = await scene.watchdog.isAlive(turn: &turn)
            #expect(isAlive, "it was loaded again")
        }
        let isAliveAgain = try await scene.goWrong(&turn)
        #expect(!isAliveAgain, "the second difference")
        for _ in 0..<3 {
            let isAlive = await scene.watchdog.isAlive(turn: &turn)
            #expect(!isAlive, "it was loaded again, and is not trusted")
        }
        try scene.repository.unload("m")
        let isAliveWithNone = await scene.watchdog.isAlive(turn: &turn)
        #expect(!isAliveWithNone, "no model is ready")
    }

    /// A restart would repeat the answer, and end the other models.
    @Test("a model whose scores become NaN fails its canary, which is counted, and the watchdog is fed")
    func aModelOfNoNumbersIsReported() async throws {
        let scene = try await Scene(hasGolden: false)
        var turn = 0
        let isAliveBefore = await scene.watchdog.isAlive(turn: &turn)
        #expect(isAliveBefore && scene.metrics[.canariesFailed] == 0)
        scene.engine.spoilLoaded(with: .nan)
        for failed in 1...2 {
            let isAlive = await scene.watchdog.isAlive(turn: &turn)
            #expect(isAlive && scene.metrics[.canariesFailed] == UInt64(failed))
        }
        #expect(scene.metrics[.canariesSucceeded] == 1)
    }

    @Test("a model with a golden whose scores become NaN is loaded again")
    func aModelOfNoNumbersWithAGoldenIsLoadedAgain() async throws {
        let scene = try await Scene()
        var turn = 0
        let isAlive = try await scene.goWrong(&turn, score: .nan)
        #expect(isAlive && scene.metrics[.canariesFailed] == 1)
    }

    @Test("while no model is ready and none has differed, the watchdog is fed")
    func withoutModelsTheWatchdogIsFed() async throws {
        let scene = try await Scene()
        try scene.repository.unload("m")
        var turn = 0
        let isAlive = await scene.watchdog.isAlive(turn: &turn)
        #expect(isAlive)
    }
}

/// An engine with a model that prefers the first of two classes, and the second after a test has spoilt it.
private final class ErringEngine: Engine {
    let version = "erring 1"
    /// The number of compiled models, and how many of the first ones are spoilt.
    private let state = Mutex((compiled: 0, spoilt: 0, score: Float(0.9)))

    /// Spoils the models compiled so far; later ones are right.
    /// - Parameter score: the score of the wrong class.
    func spoilLoaded(with score: Float) { state.withLock { ($0.spoilt, $0.score) = ($0.compiled, score) } }

    func count() -> Int {
        state.withLock { state in
            state.compiled += 1
            return state.compiled
        }
    }

    func scores(_ number: Int) -> [Float] { state.withLock { number <= $0.spoilt ? [0.1, $0.score] : [0.9, 0.1] } }

    func availableDevices() throws(EngineError) -> [ComputeDevice] { [] }

    func read(_ source: ModelSource) throws(EngineError) -> any ModelFile { File(engine: self) }

    private struct File: ModelFile {
        let engine: ErringEngine
        let inputs = [TensorPort(name: "image", elementType: .float32, shape: [-1, 2, 2, 3])]
        let outputs = [TensorPort(name: "scores", elementType: .float32, shape: [-1, 2])]
        func inputIndex(named name: String) -> Int? { inputs.firstIndex { $0.name == name } }
        func outputIndex(named name: String) -> Int? { outputs.firstIndex { $0.name == name } }
        func compile(_ options: CompileOptions) throws(EngineError) -> any CompiledModel {
            Compiled(inputs: inputs, outputs: outputs, engine: engine, number: engine.count())
        }
    }

    private struct Compiled: CompiledModel {
        let inputs: [TensorPort], outputs: [TensorPort]
        let engine: ErringEngine
        let number: Int
        var optimalRequestCount: Int { 1 }
        var loadedFromCache: Bool { false }
        var executionDevices: String { "FAKE" }
        func makeRequest() throws(EngineError) -> any InferRequest { Request(engine: engine, number: number) }
        func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor {
            ZeroTensor(elementType: elementType, shape: shape)
        }
    }

    private final class Request: InferRequest {
        private let engine: ErringEngine
        private let number: Int

        init(engine: ErringEngine, number: Int) {
            self.engine = engine
            self.number = number
        }

        func setInput(_ index: Int, to tensor: any EngineTensor) throws(EngineError) {}
        func start(completion: @escaping @Sendable () -> Void) throws(EngineError) { completion() }
        func finish() throws(EngineError) {}
        func cancel() {}
        func profile() throws(EngineError) -> [LayerProfile] { [] }
        func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R {
            engine.scores(number).withUnsafeBytes { body([1, 2], $0) }
        }
    }
}
