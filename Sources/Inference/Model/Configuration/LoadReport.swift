/// The result of loading a model: times, warnings, and how it runs.
public struct LoadReport: Sendable, Hashable {
    /// Nanoseconds for reading the bundle and the model file, for compiling it, and for warming it up.
    public var read: UInt64 = 0, compile: UInt64 = 0, warmUp: UInt64 = 0
    /// Nanoseconds of the load check, which loads it in a separate process first, if ``wasTried``.
    public var loadCheck: UInt64 = 0
    /// True if it was loaded in a separate process first. This is skipped for models that are known or trusted.
    public var wasTried = false
    /// The reason that such a process could not be started; nil if it could, or was not needed.
    public var loadCheckProblem: String?
    /// Nanoseconds of the very first prediction, which is part of the warm-up; nil if no prediction was made.
    public var firstPrediction: UInt64?
    /// Nanoseconds for comparing the answers of its streams with those of one stream, including the computation of the
    /// latter.
    public var comparison: UInt64 = 0
    /// The result of the comparison of streams.
    public var streamCheck = StreamCheck.notCompared(reason: "it is not loaded")
    /// The result of comparing its answers with those of its goldens; nil if the bundle has none.
    public var goldens: GoldenReport?
    /// The engine that runs it; nil if the engine does not say.
    public var engine: EngineUse?
    /// The confirmation of its answers by a second computation, or the reason for its absence.
    public var confirmation = Confirmation(unconfirmed: "it is not loaded")
    /// Nanoseconds for the comparison of engines.
    public var engineComparison: UInt64 = 0
    /// Nanoseconds of the load check that it spent on the comparison of engines.
    public var triedEngineComparison: UInt64 = 0
    /// True if the compiled model was read from the cache.
    public var isCached = false
    /// The total size of the bundle's files in bytes.
    public var fileBytes = 0
    /// Warnings about likely mistakes in the model file, and about wrong scores on this machine. The model is served
    /// unchanged.
    public var advice: [String] = []
    /// The undecided entries of model.json (`$decide`), each with its path.
    public var undecided: [String] = []
    /// The transforms of pixels and scores, one entry for each input and output.
    public var treatment: [String] = []
    /// The sources of the description of a model without model.json; nil if it has a model.json.
    public var provenance: ModelProvenance?
    /// The devices that it runs on.
    public var device = ""
    /// The properties of its execution on these devices, as reported by the engine.
    public var execution = ExecutionProperties()
    /// The rewrite of its 8-bit weights; nil if it has no such weights with zero points, or if they must not be
    /// rewritten.
    public var integerWeights: IntegerWeights?

    /// The report of a model that is not loaded.
    public init() {}

    /// The total time in nanoseconds.
    public var total: UInt64 { loadCheck &+ read &+ compile &+ warmUp &+ comparison &+ engineComparison }
}

/// The result of comparing a model with the goldens of its bundle: pictures with known answers.
public struct GoldenReport: Sendable, Hashable {
    /// The number of pictures, and the number of those that were answered as expected.
    public let compared: Int, agreed: Int
    /// The first few pictures that were answered differently, each with the difference.
    public let differences: [String]

    /// `3 of 20 goldens differ: cat.jpg: expected tabby 0.91, got goldfish 0.40`; nil if all agree.
    public var summary: String? {
        let differing = compared - agreed
        guard differing > 0 else { return nil }
        let words = compared == 1 ? "golden differs" : "goldens differ"
        return "\(differing) of \(compared) \(words): " + differences.joined(separator: "; ")
            + (differing > differences.count ? "; ..." : "")
    }
}
