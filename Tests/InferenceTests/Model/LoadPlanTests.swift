import Inference
import Testing

/// The plan of a load: what each attempt loads, after what the ones before have found.
@Suite struct LoadPlanTests {
    /// A plan with a load check and four streams.
    private static func plan() -> LoadPlan {
        var configuration = ModelConfiguration()
        configuration.loadCheck = LoadCheck(remembering: nil, circumstances: "") { _ in .impossible("no processes") }
        configuration.compile.streams = 4
        return LoadPlan(path: "/models/m", configuration: configuration)
    }

    /// A bundle that requests batches of eight.
    private static let batches = {
        var runtime = ModelRuntime()
        runtime.batch = 8
        return runtime
    }()

    @Test("the first attempt has a load check, all streams and the batches of the bundle")
    func theFirstAttemptIsAsConfigured() {
        let plan = Self.plan()
        #expect(plan.configuration(for: Self.batches).loadCheck != nil)
        #expect(plan.configuration(for: Self.batches).compile.streams == 4)
        #expect(plan.batchLimit(for: Self.batches) == 8 && plan.batchLimit(for: nil) == 1)
    }

    @Test("after a difference of streams, a model is loaded with one stream and its batches, without a load check")
    func streamsThatDifferAreOneStream() throws {
        var plan = Self.plan()
        try plan.avoid("y differs", ofBatches: false)
        let configuration = plan.configuration(for: Self.batches)
        #expect(configuration.compile.streams == 1 && configuration.loadCheck == nil)
        #expect(plan.batchLimit(for: Self.batches) == 8 && plan.batchDifference == nil)
    }

    @Test("after a difference of batches, a model is loaded without them, with all streams and no load check")
    func batchesThatDifferAreLeftOut() throws {
        var plan = Self.plan()
        try plan.avoid("in batches, y differs", ofBatches: true)
        let configuration = plan.configuration(for: Self.batches)
        #expect(configuration.compile.streams == 4 && configuration.loadCheck == nil)
        #expect(plan.batchLimit(for: Self.batches) == 1 && plan.batchDifference == "in batches, y differs")
    }

    @Test("batches and streams may each differ once, in any order", arguments: [true, false])
    func bothMayDifferOnce(_ batchesFirst: Bool) throws {
        var plan = Self.plan()
        try plan.avoid("first", ofBatches: batchesFirst)
        try plan.avoid("second", ofBatches: !batchesFirst)
        #expect(plan.configuration(for: nil).compile.streams == 1 && plan.batchLimit(for: Self.batches) == 1)
        #expect(plan.batchDifference == (batchesFirst ? "first" : "second"))
        for ofBatches in [true, false] {
            var last = plan
            let error = #expect(throws: InferenceError.self) { try last.avoid("third", ofBatches: ofBatches) }
            let streams = batchesFirst ? "second" : "first"
            #expect(
                error?.message.contains("\(streams); compiled once more, with one stream, third") == true,
                "\(String(describing: error))")
        }
    }

    @Test("the settings of a bundle replace those of the service, except for streams that are known to differ")
    func theBundleHasPrecedence() {
        var runtime = ModelRuntime()
        runtime.device = "GPU"
        runtime.hint = .latency
        runtime.instances = 3
        runtime.maxInFlight = 5
        runtime.integerWeights = false
        runtime.loneThreads = 7
        var configuration = ModelConfiguration()
        configuration.compile.device = "CPU"
        configuration.instances = 1
        configuration.queueCapacity = 9
        var found = LoadPlan(path: "/models/m", configuration: configuration).configuration(for: runtime)
        #expect(found.compile.device == "GPU" && found.compile.hint == .latency && !found.integerWeights)
        #expect(found.instances == 3 && found.maxInFlight == 5 && found.singleStream == .always(threads: 7))
        #expect(found.queueCapacity == 9 && found.compile.streams == nil)
        configuration.streamDifference = "y differs"
        found = LoadPlan(path: "/models/m", configuration: configuration).configuration(for: runtime)
        #expect(found.compile.streams == 1)
    }
}
