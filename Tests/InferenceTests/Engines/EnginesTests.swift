import FlowControl
import Foundation
import Inference
import SystemSupport
import TestSupport
import Testing

/// The requirements of every engine, tested in the same way: answers, cancellation, deadlines, many requests at once,
/// loads, and released resources.
@Suite(.serialized)
struct EnginesTests {
    /// The available engines.
    static let engines = TestEngines.names.compactMap(EnginePreference.init)

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// - Parameter compares: whether the load compares the answers of streams and of engines, in several inferences.
    private func load(
        _ file: PoolingFile, on engine: EnginePreference, streams: Int = 2, compares: Bool = true,
        profiling: Bool = false
    ) async throws -> Model {
        let path = folder.url.appendingPathComponent(file.name)
        try file.bytes.write(to: path)
        var configuration = ModelConfiguration()
        configuration.engineRequest.preference = engine
        configuration.compile.streams = streams
        configuration.compile.threads = streams
        configuration.compile.profiling = profiling
        (configuration.comparesStreams, configuration.comparesEngines) = (compares, compares)
        let model = try await Model.load(contentsOf: path.path, configuration: configuration)
        #expect(model.loadReport.engine?.name == engine.rawValue)
        return model
    }

    /// A picture of one color, as the file takes it.
    private static func picture(_ file: PoolingFile, value: Float) throws -> DictionaryFeatureProvider {
        let floats = [Float](repeating: value, count: file.shape.reduce(1, *))
        return ["image": .multiArray(try MultiArray(shape: Shape(file.shape), floats: floats))]
    }

    private static func mean(_ prediction: Prediction) -> [Double] {
        if case .multiArray(let array)? = prediction.featureValue(for: "mean") { array.doubles } else { [] }
    }

    /// Pooling does not change a picture of one color, because padding does not count.
    private static func small(for engine: EnginePreference) -> PoolingFile {
        PoolingFile(layers: 3, side: 16, window: 3, engine: engine.rawValue)
    }

    @Test("each of 20 predictions made together gets the answer to its own input", arguments: engines)
    func answersAreThoseOfTheirInput(engine: EnginePreference) async throws {
        let file = Self.small(for: engine), model = try await load(file, on: engine)
        let answers = await model.predictions(from: try (0..<20).map { try Self.picture(file, value: Float($0)) })
        for (index, answer) in answers.enumerated() {
            #expect(Self.mean(try answer.get()).allSatisfy { abs($0 - Double(index)) < 1e-4 }, "\(index)")
        }
    }

    @Test(
        "a cancelled prediction stops, and its infer request runs the next prediction up to its deadline",
        arguments: engines)
    func aCancelledPredictionStopsAndItsRequestIsUsedAgain(engine: EnginePreference) async throws {
        let file = PoolingFile(layers: 20, engine: engine.rawValue)
        let model = try await load(file, on: engine, streams: 1, compares: false)
        let input = try Self.picture(file, value: 1)
        let running = Task { try await model.prediction(from: input) }
        try await Task.sleep(for: .milliseconds(300))
        running.cancel()
        let result = await running.result
        #expect(throws: InferenceError.self) { try result.get() }
        if case .failure(let error as InferenceError) = result {
            guard case .cancelled = error else {
                Issue.record("\(error)")
                return
            }
        }
        #expect(model.limiter.snapshot.inFlight == 0)
        // The flag that stopped the first prediction does not stop the next one; its deadline does.
        var options = PredictionOptions()
        options.deadline = .now + .milliseconds(200)
        do {
            _ = try await model.prediction(from: input, options: options)
            Issue.record("it was not ended")
        } catch {
            guard case .deadlineExceeded = error else {
                Issue.record("\(error)")
                return
            }
        }
        #expect(model.limiter.snapshot.inFlight == 0)
    }

    /// Predictions that end in any way and at any time: the others are answered correctly, and no slot stays taken.
    @Test("a storm of cancelled predictions leaves no slot taken, and the other answers are right", arguments: engines)
    func aStormOfCancelledPredictionsLeavesNothing(engine: EnginePreference) async throws {
        let seed = UInt64.random(in: .min ... .max)
        print("storm: seed \(seed)")
        var random = SplitMix(seed: seed)
        let file = PoolingFile(layers: 4, side: 64, window: 15, engine: engine.rawValue)
        let model = try await load(file, on: engine)
        let count = LongTests.times(150, long: 2_000)
        var tasks: [(Task<Prediction, any Error>, Float)] = []
        for index in 0..<count {
            let value = Float(index % 50), input = try Self.picture(file, value: value)
            let task = Task<Prediction, any Error> { try await model.prediction(from: input) }
            tasks.append((task, value))
            if random.next() % 3 == 0 { task.cancel() }
            if random.next() % 4 == 0 { tasks[Int(random.next() % UInt64(tasks.count))].0.cancel() }
            if random.next() % 8 == 0 { try await Task.sleep(for: .microseconds(Int(random.next() % 3_000))) }
        }
        for (task, value) in tasks {
            switch await task.result {
            case .success(let prediction):
                #expect(Self.mean(prediction).allSatisfy { abs($0 - Double(value)) < 1e-3 }, "seed \(seed)")
            case .failure(let error as InferenceError):
                switch error {
                case .cancelled, .refused: break
                default: Issue.record("seed \(seed): \(error)")
                }
            case .failure(let error): Issue.record("seed \(seed): \(error)")
            }
        }
        #expect(model.limiter.snapshot.inFlight == 0 && model.limiter.snapshot.waiting == 0)
        let last = try await model.prediction(from: try Self.picture(file, value: 9))
        #expect(Self.mean(last).allSatisfy { abs($0 - 9) < 1e-3 })
    }

    private static func status(_ key: String) -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(key + ":") } ?? ""
        return Int(line.split { !$0.isNumber }.first ?? "") ?? 0
    }

    /// Models are loaded while another model answers: all of its answers are correct, and threads and memory do not
    /// grow with the number of loads.
    @Test("loading models while another model answers leaves no threads and no memory behind", arguments: engines)
    func loadsUnderLoadLeaveNoThreadsAndNoMemory(engine: EnginePreference) async throws {
        let file = Self.small(for: engine)
        let serving = try await load(file, on: engine)
        let input = try Self.picture(file, value: 5)
        let load = Task {
            var answers = 0
            while !Task.isCancelled {
                let answer = try await serving.prediction(from: input)
                #expect(Self.mean(answer).allSatisfy { abs($0 - 5) < 1e-4 })
                answers += 1
            }
            return answers
        }
        func loadOnce() async throws {
            let model = try await self.load(file, on: engine)
            _ = try await model.prediction(from: input)
        }
        for _ in 0..<5 { try await loadOnce() }
        let threads = Self.status("Threads"), memory = Self.status("VmRSS")
        for _ in 0..<LongTests.times(30, long: 300) { try await loadOnce() }
        load.cancel()
        do { #expect(try await load.value > 0) } catch let error as InferenceError {
            guard case .cancelled = error else {
                Issue.record("\(error)")
                return
            }
        }
        // Threads of the last model may still be ending.
        #expect(
            await eventuallyAsync { Self.status("Threads") <= threads + 4 },
            "\(Self.status("Threads")) instead of \(threads)")
        #expect(Self.status("VmRSS") < memory + (48 << 10), "\(Self.status("VmRSS")) KiB instead of \(memory)")
    }

    private func eventuallyAsync(_ condition: () -> Bool) async -> Bool {
        for _ in 0..<500 {
            if condition() { return true }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return condition()
    }

    /// The source of the small file for an engine.
    private func source(for engine: EnginePreference) throws -> ModelSource {
        let file = Self.small(for: engine), path = folder.url.appendingPathComponent(file.name)
        try file.bytes.write(to: path)
        var source = ModelSource(path: path.path)
        source.engine.preference = engine
        return source
    }

    @Test("streams with one thread are used by all but OpenVINO, and one stream stays one", arguments: engines)
    func streamsOfOneThread(engine: EnginePreference) async throws {
        let source = try source(for: engine)
        var options = CompileOptions()
        options.threads = 2
        options.streamsOfOneThread = 3
        for streams in [1, 2] {
            options.streams = streams
            let compiled = try DefaultEngine.shared().read(source).compile(options)
            let expected = engine != .openvino && streams > 1 ? 3 : streams
            #expect(compiled.execution.streams == expected)
            #expect(compiled.optimalRequestCount == expected)
        }
    }

    /// Without LiteRT: its API does not report the times of layers.
    @Test("profiling lists every pooling layer of a model", arguments: engines.filter { $0 != .litert })
    func layersAreMeasured(engine: EnginePreference) async throws {
        let source = try source(for: engine)
        var options = CompileOptions()
        options.profiling = true
        options.streams = 1
        let compiled = try DefaultEngine.shared().read(source).compile(options)
        let request = try compiled.makeRequest()
        let tensor = try compiled.makeTensor(elementType: .float32, shape: [1, 3, 16, 16])
        tensor.bytes.initializeMemory(as: UInt8.self, repeating: 0)
        try request.setInput(0, to: tensor)
        let ended = AsyncStream<Void>.makeStream()
        try request.start { ended.continuation.finish() }
        for await _ in ended.stream {}
        try request.finish()
        let layers = try request.profile()
        #expect(layers.count { $0.type.contains("Pool") } >= 3, "\(layers)")
    }

    @Test("the layers of several inferences are measured, one after another", arguments: engines)
    func layersAreMeasuredAgain(engine: EnginePreference) async throws {
        let model = try await load(Self.small(for: engine), on: engine, profiling: true)
        #expect(try await model.layerProfiles(runs: 3).count == 3)
    }

    @Test("the outputs of a model are observed in several inferences", arguments: engines)
    func outputsAreObserved(engine: EnginePreference) async throws {
        let path = try source(for: engine).path
        let probe = try await OutputProbe.run(path: path, height: 16, width: 16)
        #expect(probe.outputs.map { $0?.count } == [3])
    }
}
