import Foundation
import Inference
internal import Repository
import Synchronization
import TestSupport
import Testing

/// The answers of all streams are compared with those of one before a model serves.
@Suite(.timeLimit(.minutes(2))) struct StreamCheckTests {
    private static func bytes(_ values: [Float]) -> [UInt8] { values.withUnsafeBytes { Array($0) } }
    private static let right = bytes([0.1, 0.2, 0.3, 0.4])

    private func load(
        _ engine: FakeEngine, runtime: String = "{}", cache: TemporaryFolder? = nil, bare: Bool = false,
        _ change: (inout ModelConfiguration) -> Void = { _ in }
    ) async throws -> Model {
        let folder = try TemporaryFolder()
        let bundle = try folder.write(
            bare ? ["m.onnx": "a model"] : ["model.json": Bundles.manifest(runtime: runtime), "m.onnx": "a model"])
        let path = bare ? bundle + "/m.onnx" : bundle
        var configuration = ModelConfiguration()
        configuration.engine = engine
        configuration.compile.cacheDirectory = cache?.url.path
        change(&configuration)
        return try await Model.load(contentsOf: path, configuration: configuration)
    }

    private func streams(_ engine: FakeEngine) -> [Int?] { engine.state.withLock { $0.options.map(\.streams) } }

    @Test("a model whose streams give equal answers serves with all streams")
    func equalStreamsServeAsTheyAre() async throws {
        let engine = FakeEngine(answers: { _, _, _, _ in Self.right })
        let model = try await load(engine)
        #expect(model.loadReport.streamCheck == .equal && model.instances == 2)
        #expect(streams(engine) == [1, nil], "the reference is compiled, then the model")
        #expect(engine.state.withLock { $0.models } == 1, "the reference is released")
        #expect(engine.state.withLock { $0.used.count } >= 2, "both requests of the model ran")
    }

    /// The last bits of a sum depend on how threads divide it.
    @Test("answers of streams that differ only by rounding are equal")
    func roundingIsNoDifference() async throws {
        let engine = FakeEngine(answers: { streams, _, _, _ in
            streams == 1 ? Self.right : Self.bytes([0.10001, 0.2, 0.3, 0.40002])
        })
        #expect(try await load(engine).loadReport.streamCheck == .equal)
    }

    @Test(
        "a model whose second stream answers wrongly is served with one stream, and the report says so",
        arguments: [[0.1, 0.2, 0.3, 0.41], [0.1, .nan, 0.3, 0.4], [0.1, 0.2, .infinity, 0.4]] as [[Float]])
    func aModelWhoseSecondStreamIsWrongIsServedWithOneStream(_ wrong: [Float]) async throws {
        let engine = FakeEngine(answers: { streams, request, _, _ in
            streams > 1 && request == 1 ? Self.bytes(wrong) : Self.right
        })
        let model = try await load(engine)
        guard case .oneStream(let reason) = model.loadReport.streamCheck else {
            Issue.record("\(model.loadReport.streamCheck)")
            return
        }
        #expect(reason.contains("output \"y\" has") && reason.contains("instead of 0."), "\(reason)")
        #expect(model.loadReport.advice.contains { $0.contains("runs with one stream") })
        #expect(streams(engine) == [1, nil, 1] && model.instances == 1)
        #expect(engine.state.withLock { $0.models } == 1)
    }

    @Test("a model that differs from the reference even with one stream fails to load")
    func aModelThatIsWrongWithOneStreamTooFailsToLoad() async throws {
        // Only the model that is compiled first, for the reference, is right.
        let compiled = Atomic<Int>(0)
        let engine = FakeEngine(answers: { streams, _, _, _ in
            if streams > 1 { compiled.store(1, ordering: .relaxed) }
            return compiled.load(ordering: .relaxed) == 0 ? Self.right : Self.bytes([1, 2, 3, 4])
        })
        let error = await #expect(throws: InferenceError.self) { try await load(engine) }
        #expect("\(String(describing: error))".contains("give the same answers twice"), "\(String(describing: error))")
        #expect(streams(engine) == [1, nil, 1])
    }

    @Test("a model that differs from itself on one stream is not compared, and the report says so")
    func aModelThatDiffersFromItselfOnOneStreamIsExemptAndSaysSo() async throws {
        let engine = FakeEngine(answers: { _, _, run, _ in Self.bytes([Float(run), 0, 0, 0]) })
        let model = try await load(engine)
        #expect(model.loadReport.streamCheck == .random && model.instances == 2)
        #expect(model.loadReport.advice.contains { $0.contains("were not compared") })
        try await model.canary()
    }

    @Test("a model that is configured with one stream is not compared")
    func oneStreamIsComparedWithNothing() async throws {
        let engine = FakeEngine(answers: { _, _, _, _ in Self.right })
        let model = try await load(engine) { $0.compile.streams = 1 }
        #expect(model.loadReport.streamCheck == .notCompared(reason: "it runs with one stream"))
        #expect(streams(engine) == [1])
    }

    @Test("the cache keeps reference answers, and that a model must run with one stream")
    func theReferenceIsKeptByTheDigestOfTheFileInTheCache() async throws {
        let cache = try TemporaryFolder()
        let engine = FakeEngine(answers: { _, _, _, _ in Self.right })
        #expect(try await load(engine, cache: cache).loadReport.streamCheck == .equal)
        #expect(streams(engine) == [1, nil])
        #expect(try await load(engine, cache: cache).loadReport.streamCheck == .equal)
        #expect(streams(engine) == [1, nil, nil], "a second load compiles no reference")
        let names = try FileManager.default.contentsOfDirectory(atPath: cache.url.path)
        #expect(names.count == 1 && names.allSatisfy { $0.hasSuffix(".answers") }, "\(names)")
        // Each compilation may differ, so that the check is also made on loads with a known reference.
        let wrong = FakeEngine(answers: { streams, request, _, _ in
            streams > 1 && request == 1 ? Self.bytes([9, 9, 9, 9]) : Self.right
        })
        #expect(try await load(wrong, cache: cache).loadReport.execution.streams == 1)
        // Compiled again, because the reference might be wrong.
        #expect(streams(wrong) == [nil, 1, 1])
        // The result is stored, because the next compilation would be right only by chance.
        let next = try await load(wrong, cache: cache)
        guard case .oneStream = next.loadReport.streamCheck else {
            Issue.record("\(next.loadReport.streamCheck)")
            return
        }
        #expect(streams(wrong) == [nil, 1, 1, 1])
    }

    @Test("a wrong or damaged reference in the cache is computed again")
    func aReferenceThatIsWrongOrDamagedIsComputedAgain() async throws {
        let cache = try TemporaryFolder()
        let other = FakeEngine(answers: { _, _, _, _ in Self.bytes([5, 5, 5, 5]) })
        _ = try await load(other, cache: cache)
        let engine = FakeEngine(answers: { _, _, _, _ in Self.right })
        #expect(try await load(engine, cache: cache).loadReport.streamCheck == .equal)
        #expect(streams(engine) == [nil, 1])
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: cache.url.path).first)
        try Data("{".utf8).write(to: cache.url.appendingPathComponent(name))
        #expect(try await load(engine, cache: cache).loadReport.streamCheck == .equal)
        #expect(streams(engine) == [nil, 1, 1, nil])
    }

    /// The batch variant is compiled separately, with kernels that round differently.
    @Test(
        "a batch variant that answers differently is not used, and the model runs without batches",
        arguments: [true, false])
    func aVariantForBatchesThatDiffersIsNotUsed(onAllStreams: Bool) async throws {
        let engine = FakeEngine(
            inputs: [TensorPort(name: "x", elementType: .float32, shape: [-1, 4])],
            outputs: [TensorPort(name: "y", elementType: .float32, shape: [-1, 4])],
            answers: { streams, request, _, items in
                items == 3 && (onAllStreams || streams > 1 && request == 1) ? Self.bytes([9, 9, 9, 9]) : Self.right
            })
        let model = try await load(engine, runtime: #"{ "batch": 3 }"#)
        #expect(model.loadReport.streamCheck == .equal && model.instances == 2 && model.batchLimit == 1)
        #expect(
            model.loadReport.advice.contains {
                $0.hasPrefix("runs without batches (runtime.batch): in batches, output \"y\" has 9.0")
            }, "\(model.loadReport.advice)")
        #expect(engine.state.withLock { $0.items }.contains(3))
        #expect(streams(engine) == [1, nil, nil, nil], "the reference, the model, the variant, the model without it")
    }

    private func ports(_ type: ElementType, _ shape: Shape) -> [TensorPort] {
        [TensorPort(name: "y", elementType: type, shape: shape)]
    }

    /// A detector's list is sorted by score, and rounding swaps rows with nearly equal scores.
    @Test("detector rows that change places are no difference, unless a row has another value")
    func rowsThatChangePlacesAreNoDifferenceUnlessTheyHaveOtherValues() async throws {
        for (last, isEqual) in [(Float(7), true), (8, false)] {
            let engine = FakeEngine(
                outputs: ports(.float32, [1, 3, 2]),
                answers: { streams, _, _, _ in
                    Self.bytes(streams == 1 ? [0.9, 3, 0.5, 7, 0.5, 1] : [0.9, 3, 0.5, 1, 0.50001, last])
                })
            #expect((try await load(engine, bare: true).loadReport.streamCheck == .equal) == isEqual, "\(last)")
        }
    }

    @Test("class indices that change places are no difference, unless an index is another")
    func placesOfClassesThatChangePlacesAreNoDifferenceUnlessTheyAreOthers() async throws {
        for (last, isEqual) in [(Int32(7), true), (8, false)] {
            let engine = FakeEngine(
                outputs: ports(.int32, [1, 3]),
                answers: { streams, _, _, _ in
                    (streams == 1 ? [3, 7, 1] : [3, 1, last]).withUnsafeBytes { Array($0) }
                })
            #expect((try await load(engine, bare: true).loadReport.streamCheck == .equal) == isEqual, "\(last)")
        }
    }

    /// The position of a score identifies its class.
    @Test("scores of a classifier that change places are a difference")
    func scoresThatChangePlacesAreADifference() async throws {
        let engine = FakeEngine(answers: { streams, _, _, _ in
            streams == 1 ? Self.right : Self.bytes([0.4, 0.2, 0.3, 0.1])
        })
        #expect(try await load(engine).loadReport.streamCheck.name == "one_stream")
    }

    @Test("the canary finds a stream that goes wrong later, and the reload runs with one stream")
    func aStreamThatGoesWrongLaterIsFoundByTheCanaryAndAReloadRunsWithOneStream() async throws {
        let isWrong = Atomic<Bool>(false)
        let engine = FakeEngine(answers: { streams, request, _, _ in
            isWrong.load(ordering: .relaxed) && streams > 1 && request == 1 ? Self.bytes([9, 9, 9, 9]) : Self.right
        })
        for hasCache in [true, false] {
            isWrong.store(false, ordering: .relaxed)
            let folder = try TemporaryFolder(), cache = try TemporaryFolder()
            let path = try folder.write(["model.json": Bundles.manifest(), "m.onnx": "a model"])
            var configuration = ModelConfiguration()
            configuration.engine = engine
            if hasCache { configuration.compile.cacheDirectory = cache.url.path }
            let repository = ModelRepository(
                folders: [], named: [NamedModel(name: "m", path: path)], configuration: configuration)
            try repository.discover()
            let model = try await repository.model(named: "m")
            #expect(try await model.canary() == nil)
            isWrong.store(true, ordering: .relaxed)
            let difference = try #require(try await model.canary())
            #expect(difference.contains("output \"y\" has 9.0"), "\(difference)")
            try await repository.reload(servedBy: model)
            let next = try await repository.model(named: "m")
            #expect(next !== model && next.instances == 1)
            #expect(next.loadReport.streamCheck == .oneStream(reason: difference))
            #expect(next.loadReport.advice.contains { $0.contains("runs with one stream") })
            #expect(try await next.canary() == nil)
            // The replacement is not reloaded.
            try await repository.reload(servedBy: model)
            #expect(try await repository.model(named: "m") === next)
            guard hasCache else { continue }
            let restarted = try await Model.load(contentsOf: path, configuration: configuration)
            #expect(restarted.loadReport.streamCheck == .oneStream(reason: difference), "the cache knows")
        }
    }

    /// No other option remains: the engine itself is wrong.
    @Test("a canary that differs on a model with one stream is an error")
    func aCanaryThatDiffersWithOneStreamFails() async throws {
        let cache = try TemporaryFolder(), isWrong = Atomic<Bool>(false)
        let engine = FakeEngine(answers: { streams, request, _, _ in
            streams > 1 && request == 1 || isWrong.load(ordering: .relaxed) ? Self.bytes([9, 9, 9, 9]) : Self.right
        })
        let model = try await load(engine, cache: cache)
        #expect(model.instances == 1)
        isWrong.store(true, ordering: .relaxed)
        let error = await #expect(throws: InferenceError.self) { try await model.canary() }
        #expect("\(String(describing: error))".contains("repeat its answers"), "\(String(describing: error))")
    }
}
