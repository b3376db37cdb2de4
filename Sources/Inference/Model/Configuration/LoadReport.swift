/// The result of loading a model: times, warnings, and how it runs.
public struct LoadReport: Sendable, Hashable {
    /// Nanoseconds for reading the bundle and the model file, for compiling it, and for warming it up.
    public var read: UInt64 = 0, compile: UInt64 = 0, warmUp: UInt64 = 0
    /// Nanoseconds for loading it in a separate process before, if ``wasTried``.
    public var loadCheck: UInt64 = 0
    /// True if it was loaded in a separate process before. This is skipped for models that are known or trusted.
    public var wasTried = false
    /// The reason why such a process could not be started; nil if it could, or was not needed.
    public var loadCheckProblem: String?
    /// Nanoseconds of the very first prediction, which is part of the warm-up; nil if there was none.
    public var firstPrediction: UInt64?
    /// Nanoseconds for comparing the answers of its streams, and for computing those of one stream.
    public var comparison: UInt64 = 0
    /// The result of that comparison.
    public var streamCheck = StreamCheck.notCompared(reason: "it is not loaded")
    /// The result of comparing its answers with those of its goldens; nil if the bundle has none.
    public var goldens: GoldenReport?
    /// The engine that runs it; nil if there is no choice.
    public var engine: EngineUse?
    /// The reason its answers were not compared with those of the other engine; nil if they were, or if there is none.
    public var engineUncompared: String?
    /// Nanoseconds for comparing them.
    public var engineComparison: UInt64 = 0
    /// Nanoseconds of the load check that went into comparing them there.
    public var triedEngineComparison: UInt64 = 0
    /// True if the compiled model came from the cache.
    public var isCached = false
    /// Bytes of the bundle's files.
    public var fileBytes = 0
    /// Warnings about likely mistakes in the model file, and about wrong scores on this machine. The model is served
    /// unchanged.
    public var advice: [String] = []
    /// The entries of model.json that are marked as not decided yet (`$decide`), each with its place.
    public var undecided: [String] = []
    /// The transforms of pixels and scores, by input and output.
    public var treatment: [String] = []
    /// The sources of the description of a model without model.json; nil if there is a model.json.
    public var provenance: ModelProvenance?
    /// The devices that it runs on.
    public var device = ""
    /// The properties of its execution on these devices, as reported by the engine.
    public var execution = ExecutionProperties()
    /// The rewrite of its 8-bit weights; nil if it has none with zero points, or if they must not be rewritten.
    public var integerWeights: IntegerWeights?

    /// A load that has not happened yet.
    public init() {}

    /// Total nanoseconds.
    public var total: UInt64 { loadCheck &+ read &+ compile &+ warmUp &+ comparison &+ engineComparison }
}
