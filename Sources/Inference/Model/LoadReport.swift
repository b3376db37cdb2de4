/// What loading a model was like.
public struct LoadReport: Sendable, Hashable {
    /// Nanoseconds for reading the bundle and the model file, for compiling it, and for warming it up.
    public var read: UInt64 = 0, compile: UInt64 = 0, warmUp: UInt64 = 0
    /// Nanoseconds for loading it in a separate process before, where ``wasTried``.
    public var trial: UInt64 = 0
    /// Whether it was loaded in a separate process before: not where the model was known, or is trusted.
    public var wasTried = false
    /// Why such a process could not be started; nil if it could, or none was wanted.
    public var trialProblem: String?
    /// Nanoseconds of the very first prediction, which is part of the warm-up; nil if there was none.
    public var firstPrediction: UInt64?
    /// Whether the compiled model came from the cache.
    public var isCached = false
    /// Bytes of the bundle's files.
    public var fileBytes = 0
    /// What looks like a mistake in the model file, or can give wrong scores on this machine, though it is served as written.
    public var advice: [String] = []
    /// What is done to pixels and scores, by input and output.
    public var treatment: [String] = []
    /// Where what is known of a model without model.json was read; nil if there is a model.json.
    public var provenance: ModelProvenance?
    /// The devices that it runs on.
    public var device = ""
    /// How it runs there, in the engine's words.
    public var execution = ExecutionProperties()
    /// How its 8-bit weights are computed with; nil if it has none with zero points, or they were not to be rewritten.
    public var integerWeights: IntegerWeights?

    /// A load that has not happened yet.
    public init() {}

    /// Total nanoseconds.
    public var total: UInt64 { trial &+ read &+ compile &+ warmUp }
}
