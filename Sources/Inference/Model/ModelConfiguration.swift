public import FlowControl
public import ImagePipeline

/// How a model is loaded and run (Core ML's `MLModelConfiguration`).
public struct ModelConfiguration: Sendable, Equatable {
    /// The engine's device, hint, precision, threads, streams and cache.
    public var compile = CompileOptions()
    /// Whether 8-bit weights with zero points may be rewritten so that the engine computes with them in integers. It counts on the
    /// device CPU.
    public var integerWeights = true
    /// Infer requests: predictions inside the engine at once; nil takes what the engine thinks best.
    public var instances: Int?
    /// Predictions that hold decoded inputs and outputs at once; nil takes the infer requests and half as many more, so
    /// that the engine has work while the next pictures are decoded.
    public var maxInFlight: Int?
    /// Predictions that may wait for a slot.
    public var queueCapacity = 256
    /// How long one may wait for a slot.
    public var maxWait = Duration.seconds(30)
    /// What happens when more come than may wait.
    public var overloadPolicy = OverloadPolicy.defer
    /// Within what time a prediction must be done, by prediction of the wait, to be admitted under overload; zero bounds the
    /// queue by its places and `maxWait` alone. See `LimiterConfiguration.overloadTarget`.
    public var overloadTarget = Duration.zero
    /// Limits of pictures.
    public var imageLimits = ImageLimits()
    /// How long a lazy model without requests is kept; zero keeps it.
    public var idleUnload = Duration.zero
    /// Where the links of a bundle may lead.
    public var links = LinkPolicy.anywhere
    /// Loads models elsewhere first, because some files end the process that reads them; nil trusts them all.
    public var trial: LoadTrial?
    /// Whether lone predictions run on a variant with more threads, which is compiled when it is first of use.
    public var lone = LonePolicy.never
    /// The engine; nil takes the built-in one.
    public var engine: (any Engine)? {
        get { chosenEngine?.engine }
        set { chosenEngine = newValue.map { ChosenEngine(engine: $0) } }
    }
    private var chosenEngine: ChosenEngine?

    /// Engines are compared by identity.
    private struct ChosenEngine: Sendable, Equatable {
        let engine: any Engine
        static func == (a: ChosenEngine, b: ChosenEngine) -> Bool { a.engine === b.engine }
    }

    /// A bundle's model file, with what the engine may do to it.
    func source(_ source: ModelSource) -> ModelSource {
        var source = source
        source.allowsIntegerWeights = integerWeights && compile.device == "CPU"
        source.scratchFolder = compile.cacheDirectory
        return source
    }

    /// The defaults.
    public init() {}
}
