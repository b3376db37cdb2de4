public import FlowControl
public import ImagePipeline

/// The settings for loading and running a model (Core ML's `MLModelConfiguration`).
public struct ModelConfiguration: Sendable, Equatable {
    /// The engine's device, hint, precision, threads, streams and cache.
    public var compile = CompileOptions()
    /// True if 8-bit weights with zero points may be rewritten so that the engine computes in integers. Used on the
    /// device CPU only.
    public var integerWeights = true
    /// The number of infer requests, which run in parallel inside the engine; nil uses the engine's recommendation.
    public var instances: Int?
    /// The maximum number of predictions that hold decoded inputs and outputs at the same time; nil sets one and a half
    /// times the number of infer requests, so that the engine has work while the next pictures are decoded.
    public var maxInFlight: Int?
    /// The maximum number of predictions that wait for a slot.
    public var queueCapacity = 256
    /// The maximum wait for a slot.
    public var maxWait = Duration.seconds(30)
    /// The policy for a prediction that arrives when all slots are taken.
    public var overloadPolicy = OverloadPolicy.defer
    /// Under overload, a prediction is admitted only if it is expected to end within this time. Zero: the queue is
    /// limited only by its capacity and `maxWait`. See `LimiterConfiguration.overloadTarget`.
    public var overloadTarget = Duration.zero
    /// The limits of pictures.
    public var imageLimits = ImageLimits()
    /// The idle time after which a lazy model is unloaded; zero disables unloading.
    public var idleUnload = Duration.zero
    /// The places that the links of a bundle may point to.
    public var links = LinkPolicy.anywhere
    /// The load check: models are loaded in a separate process first, because some files crash the process that reads
    /// them. nil loads them directly.
    public var loadCheck: LoadCheck?
    /// The maximum time for reading, checking, compiling, warming up and comparing a model; nil sets no limit. A load
    /// that takes longer fails, so that no request waits for it; its thread remains as long as, for example, a file
    /// system does not answer.
    public var loadLimit: Duration?
    /// True if the answers of several streams are compared with those of one before a model is handed out.
    public var comparesStreams = true
    /// True if a bundle's goldens are compared before its model is handed out.
    public var comparesGoldens = true
    /// True if a bundle's calibration is read and applied.
    package var readsCalibration = true
    /// The preferred engine, unless the bundle names one, and the path of ONNX Runtime.
    public var engineRequest = EngineRequest()
    /// True if the answers of both engines to an ONNX file are compared before a model is handed out.
    public var comparesEngines = true
    /// True if a model is refused unless a second computation has confirmed its answers (``LoadReport/confirmation``).
    public var refusesUnconfirmed = false
    /// The time in which each engine starts inferences for that comparison, if a model has open axes.
    package var engineComparisonTime = Duration.milliseconds(600)
    /// The difference between the answers of several streams and those of one, if it is known before the load; the
    /// model then runs with one stream.
    package var streamDifference: String?
    /// The conditions under which single-stream predictions run on a variant with more threads, which is compiled when
    /// it becomes useful.
    public var singleStream = SingleStreamPolicy.never
    /// The engine; nil uses the default one.
    public var engine: (any Engine)? {
        get { chosenEngine?.engine }
        set { chosenEngine = newValue.map { ChosenEngine(engine: $0) } }
    }
    private var chosenEngine: ChosenEngine?

    /// A wrapper that compares engines by identity.
    private struct ChosenEngine: Sendable, Equatable {
        let engine: any Engine
        static func == (a: ChosenEngine, b: ChosenEngine) -> Bool { a.engine === b.engine }
    }

    /// Adds the settings of the engine to the source of a bundle's model file.
    func source(_ source: ModelSource) -> ModelSource {
        var source = source
        source.allowsIntegerWeights = integerWeights && compile.device == "CPU"
        source.cacheFolder = compile.cacheDirectory
        source.engine = engineRequest
        source.device = compile.device
        return source
    }

    /// The default settings.
    public init() {}
}
