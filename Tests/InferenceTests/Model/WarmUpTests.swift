import FlowControl
import Foundation
import Inference
import Synchronization
import TestSupport
import Testing

/// The inputs that a model runs before it is handed out, and batches of these.
@Suite(.timeLimit(.minutes(2))) struct WarmUpTests {
    private func load(_ runtime: String, engine: FakeEngine) async throws -> Model {
        let folder = try TemporaryFolder()
        let json = """
            { "name": "m", "id": "m", "version": "1", "model": { "file": "m.onnx", "backend": "onnx" },
              "inputs": [ { "name": "image", "type": "image", "shape": [2, 2, 3], "format": "RGB" } ],
              "outputs": [ { "name": "scores", "type": "array", "shape": [-1, 3] } ], "runtime": \(runtime) }
            """
        let path = try folder.write(["model.json": json, "m.onnx": ""])
        let seven = SharedData.packageRoot.appendingPathComponent("examples/seven.png")
        for name in ["a.png", "assets/b.png"] {
            let file = folder.url.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: seven, to: file)
        }
        try Data().write(to: folder.url.appendingPathComponent("empty.png"))
        // One byte more than the limit, in a sparse file.
        let large = folder.url.appendingPathComponent("large.png").path
        #expect(FileManager.default.createFile(atPath: large, contents: nil) && truncate(large, (64 << 20) + 1) == 0)
        var configuration = ModelConfiguration()
        configuration.engine = engine
        return try await Model.load(contentsOf: path, configuration: configuration)
    }

    private func engine(outputs: Shape = [-1, 3], maximumItems: Int = .max) -> FakeEngine {
        FakeEngine(
            inputs: [TensorPort(name: "image", elementType: .float32, shape: [-1, 2, 2, 3])],
            outputs: [TensorPort(name: "scores", elementType: .float32, shape: outputs)], requestCount: 2,
            answer: [UInt8](repeating: 0, count: 12), maximumItems: maximumItems)
    }

    @Test(
        "the warm-up runs each infer request on each picture, as often as `runs` sets",
        arguments: [
            ("{}", 2), ("{ \"warmup\": {} }", 2), ("{ \"warmup\": { \"runs\": 0 } }", 0),
            ("{ \"warmup\": { \"runs\": 3 } }", 6),
            ("{ \"warmup\": { \"image\": \"a.png\" } }", 2),
            ("{ \"warmup\": { \"image\": [\"a.png\", \"b.png\"], \"runs\": 3 } }", 12),
        ])
    func everyRequestRunsOnEveryPicture(_ runtime: String, _ inferences: Int) async throws {
        let engine = engine()
        _ = try await load(runtime, engine: engine)
        #expect(engine.started == inferences)
        // Engines may keep an input for one inference only.
        #expect(engine.state.withLock { $0.withoutInputs } == 0)
    }

    /// The exact problem of a picture is reported: an unreadable file is not reported as an empty one.
    @Test("a warm-up picture that cannot be used is reported with the reason")
    func unusablePicturesAreReportedWithTheirReason() async throws {
        for (name, reason) in [
            ("large.png", "has 67108865 bytes: expected at most 67108864"), ("empty.png", "the picture is empty"),
        ] {
            let error = await #expect(throws: InferenceError.self) {
                _ = try await load("{ \"warmup\": { \"image\": \"\(name)\" } }", engine: engine())
            }
            let message = "runtime.warmup.image: \"\(name)\""
            #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
            #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        }
    }

    @Test("a batch is divided evenly among the infer requests, up to the batch limit")
    func aBatchIsDividedAmongTheRequests() async throws {
        let model = try await load("{ \"batch\": 4 }", engine: engine())
        #expect(model.batchLimit == 4)
        #expect(model.chunks(of: 1) == [0..<1])
        #expect(model.chunks(of: 2) == [0..<1, 1..<2])
        #expect(model.chunks(of: 5) == [0..<3, 3..<5])
        #expect(model.chunks(of: 6) == [0..<3, 3..<6])
        #expect(model.chunks(of: 11) == [0..<4, 4..<8, 8..<11])
        #expect(try await load("{}", engine: engine()).chunks(of: 3) == [0..<1, 1..<2, 2..<3])
    }

    /// A model that compiles may still not run: a load detects this, not the first full batch.
    @Test("a load tries the largest batch, and fails where the model cannot run so many items")
    func theLargestBatchIsTriedBeforeTheModelIsReady() async throws {
        let good = engine(maximumItems: 4)
        _ = try await load("{ \"batch\": 4, \"warmup\": { \"image\": \"a.png\", \"runs\": 2 } }", engine: good)
        #expect(good.state.withLock { $0.items } == [1, 1, 1, 1, 4, 4])
        let error = await #expect(throws: InferenceError.self) {
            _ = try await load("{ \"batch\": 4 }", engine: engine(maximumItems: 3))
        }
        let message =
            "runtime.batch: is 4, but the model does not run on 4 items: the engine could not run the inference: "
            + "too many items: 4"
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        _ = try await load("{ \"batch\": 4, \"warmup\": { \"runs\": 0 } }", engine: engine(maximumItems: 3))
    }

    @Test("a batch setting is refused where an output of the model has no batch axis")
    func aModelWithoutABatchAxisIsRefused() async throws {
        let error = await #expect(throws: InferenceError.self) {
            _ = try await load("{ \"batch\": 4 }", engine: engine(outputs: [1, 3]))
        }
        #expect(error?.message.contains("runtime.batch: is 4, but output \"scores\" has no batch axis") == true)
    }

    /// An input with two rows is not a batch of two: its items could not be distinguished.
    @Test(
        "a batch setting is refused where an input of the model has no batch axis",
        arguments: [[2, 4], [4]] as [Shape])
    func anInputWithoutABatchAxisIsRefused(_ shape: Shape) async throws {
        let folder = try TemporaryFolder()
        let engine = FakeEngine(
            inputs: [TensorPort(name: "x", elementType: .float32, shape: shape)],
            outputs: [TensorPort(name: "y", elementType: .float32, shape: [-1, 4])])
        let manifest = Bundles.manifest(runtime: #"{ "batch": 4 }"#).replacingOccurrences(
            of: #""name": "x", "type": "array", "shape": [1, 4]"#,
            with: #""name": "x", "type": "array", "shape": \#(shape)"#)
        let path = try folder.write(["model.json": manifest, "m.onnx": ""])
        var configuration = ModelConfiguration()
        configuration.engine = engine
        let error = await #expect(throws: InferenceError.self) {
            _ = try await Model.load(contentsOf: path, configuration: configuration)
        }
        #expect(error?.message.contains("input \"x\" of shape \(shape) has no batch axis") == true, "\(error as Any)")
    }

    /// The model that is included with Ocelli, with the real engine.
    @Test("a batch on the digits model gives the same answers and errors as single predictions")
    func aBatchGivesTheNumbersOfSingles() async throws {
        let folder = try TemporaryFolder()
        let bundle = folder.url.appendingPathComponent("digits")
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("models/digits"), to: bundle)
        let single = try await Model.load(contentsOf: bundle.path, configuration: ModelConfiguration())
        let file = bundle.appendingPathComponent("model.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        let end = try #require(text.lastIndex(of: "}"))
        try "\(text[..<end]), \"runtime\": { \"batch\": 8 } }".write(to: file, atomically: true, encoding: .utf8)
        let together = try await Model.load(contentsOf: bundle.path, configuration: ModelConfiguration())
        let input = try #require(single.description.inputs.first)

        let seed = UInt64.random(in: 1 ... .max)
        var state = seed
        let items: [any FeatureProvider] = try (0..<13).map { index in
            let count = index == 4 ? 7 : input.shape.elementCount ?? 0
            let floats = (0..<count).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Float(state >> 40) / Float(1 << 24)
            }
            let shape = index == 4 ? Shape([7]) : input.shape
            let value = FeatureValue.multiArray(try MultiArray(shape: shape, floats: floats))
            return DictionaryFeatureProvider([(index == 9 ? "other" : input.name, value)])
        }
        let one = await single.predictions(from: items), all = await together.predictions(from: items)
        #expect(one.count == 13 && all.count == 13)
        for (index, pair) in zip(one, all).enumerated() {
            switch pair {
            case (.success(let a), .success(let b)):
                let name = try #require(a.featureNames.first)
                guard case .dictionary(let x)? = a.featureValue(for: name),
                    case .dictionary(let y)? = b.featureValue(for: name)
                else {
                    Issue.record("no labels")
                    return
                }
                #expect(x.map(\.label) == y.map(\.label), "seed \(seed)")
                #expect(zip(x, y).allSatisfy { abs($0.value - $1.value) < 1e-5 }, "seed \(seed)")
            case (.failure(let a), .failure(let b)):
                #expect([4, 9].contains(index), "\(index): \(a.message)")
                #expect(a.message == b.message)
            default: Issue.record("\(index): \(pair)")
            }
        }
        #expect(together.limiter.snapshot.inFlight == 0)
        #expect(together.statistics.success.count == 11 && together.statistics.failure.count == 2)
    }
}
