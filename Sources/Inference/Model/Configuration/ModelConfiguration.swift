public import FlowControl
public import ImagePipeline

/// The settings for loading and running a model (Core ML's `MLModelConfiguration`).
public struct ModelConfiguration: Sendable, Equatable {
    /// The engine's device, hint, precision, threads, streams and cache.
    public var compile = CompileOptions()
    /// True if 8-bit weights with zero points may be rewritten so that the engine computes in integers. Only used on
    /// the device CPU.
    public var integerWeights = true
    /// Infer requests: parallel predictions inside the engine; nil uses the engine's recommendation.
    public var instances: Int?
    /// The maximum number of predictions that hold decoded inputs and outputs at the same time; nil is one and a half
    /// times the infer requests, so that the engine has work while the next pictures are decoded.
    public var maxInFlight: Int?
    /// The maximum number of predictions that wait for a slot.
    public var queueCapacity = 256
    /// The maximum wait for a slot.
    public var maxWait = Duration.seconds(30)
    /// The treatment of a prediction that comes when all slots are taken.
    public var overloadPolicy = OverloadPolicy.defer
    /// Under overload, a prediction is admitted only if it is expected to end within this time. Zero: the queue is
    /// limited only by its capacity and `maxWait`. See `LimiterConfiguration.overloadTarget`.
    public var overloadTarget = Duration.zero
    /// Limits of pictures.
    public var imageLimits = ImageLimits()
    /// The time without requests after which a lazy model is unloaded; zero: never.
    public var idleUnload = Duration.zero
    /// The places that the links of a bundle may point to.
    public var links = LinkPolicy.anywhere
    /// Loads models in a separate process first, because some files crash the process that reads them; nil loads them
    /// directly.
    public var loadCheck: LoadCheck?
    /// The maximum time of reading, trying, compiling, warming up and comparing a model; nil waits as long as it takes.
    /// A load that takes longer fails, so that nothing waits for it; its thread stays as long as, for example, a file
    /// system does not answer.
    public var loadLimit: Duration?
    /// True if the answers of several streams are compared with those of one before a model is handed out.
    public var comparesStreams = true
    /// True if a bundle's goldens are compared before its model is handed out.
    public var comparesGoldens = true
    /// The engine that is wanted, where the bundle does not say; and the path of ONNX Runtime.
    public var engineRequest = EngineRequest()
    /// True if ONNX files that both engines run are compared before a model is handed out.
    public var comparesEngines = true
    /// Nanoseconds that an earlier attempt of the same load spent on comparing engines.
    var engineComparison: UInt64 = 0
    /// The difference between the answers of its streams and those of one, where it is known before the load: it then
    /// runs with one stream.
    var streamDifference: String?
    /// The difference between the answers of its variant for batches and those of one item; nil makes the variant if
    /// the bundle asks for it.
    var batchDifference: String?
    /// The conditions under which single-stream predictions run on a variant with more threads, which is compiled when
    /// it becomes useful.
    public var singleStream = SingleStreamPolicy.never
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
        source.cacheFolder = compile.cacheDirectory
        source.engine = engineRequest
        source.device = compile.device
        return source
    }

    /// The defaults.
    public init() {}
}
