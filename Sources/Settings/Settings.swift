/// All settings with their defaults. ``SettingsTable`` describes them.
package struct Settings: Sendable, Hashable {
    // Models and addresses.
    package var listen = ["127.0.0.1:8080"]
    package var models: [String] = []
    package var model: [String] = []
    package var readyWhen: [String] = ["all"]
    package var defaultModel = ""
    package var load = LoadPolicy.eager
    package var top = 5
    package var repositoryControl = RepositoryControl.local
    package var repositoryPoll: Double?
    package var stateDirectory = "auto"
    package var keepDifferences = false

    // How models run.
    package var engine = EnginePreference.auto
    package var onnxRuntimePath = ""
    package var liteRTPath = ""
    package var unconfirmed = UnconfirmedPolicy.serve
    package var device = "CPU"
    package var hint = PerformanceHint.throughput
    package var precision = InferencePrecision.float32
    package var integerWeights = true
    package var threads: Int?
    package var streams: Int?
    package var loneThreads: Int?
    package var instances: Int?
    package var cacheDirectory = "auto"
    package var cacheSize = 1 << 30
    package var shapeCache = 32 << 20
    package var idleUnload = 0.0
    package var maxLoads = 1
    package var externalLinks = false
    package var loadTrial = true
    package var loadTrialTimeout = 120.0
    package var loadTrialMemory: Int?

    // Flow control.
    package var maxInFlight: Int?
    package var queueLength = 256
    package var queueWait = 30.0
    package var overloadTarget = 0.4
    package var clientInFlight = 0
    package var clientRate = 0
    package var overloadPolicy = OverloadPolicy.defer
    package var answerCache = 0
    package var answerCacheAge = 300.0
    package var textCache = 16 << 20
    package var deadline = 60.0
    package var maxDeadline = 300.0

    // Pictures.
    package var maxPixels = 64_000_000
    package var maxTotalDecode: Int?
    package var pictureFormats = ImageFormat.allCases
    package var maxBatch = 64
    package var maxCrops = 64
    package var maxLines = 1_000
    package var maxText = 64 << 10
    package var tolerateTruncated = false

    // Taught models.
    package var taughtDirectory = ""
    package var taughtKeepPictures = false
    package var taughtKeepVersions = 10
    package var taughtMaxModels = 100
    package var taughtMaxClasses = 1_000
    package var taughtMaxExamples = 100_000
    package var taughtMaxPatches = 100_000
    package var taughtMaxBytes = 1 << 30

    // Kept pictures.
    package var keepDirectory = ""
    package var keepMargin = 0.1
    package var keepBytes = 1 << 30
    package var keepDays = 30
    package var keepRate = 10

    // HTTP.
    package var maxBody = 20 << 20
    package var maxTotalBody: Int?
    package var maxTotalAnswers: Int?
    package var maxRequestLine = 8 << 10
    package var maxHeader = 16 << 10
    package var maxHeaderFields = 100
    package var headerTimeout = 10.0
    package var minBodyRate = 1 << 10
    package var bodyTimeout = 120.0
    package var bodyGrace = 10.0
    package var idleTimeout = 75.0
    package var writeTimeout = 30.0
    package var probeHalfClosed = true
    package var maxConnections = 4096
    package var maxRequestsPerConnection = 100_000
    package var eventLoops: Int?

    // Operation.
    package var drainDelay = 0.0
    package var drainTimeout = 30.0
    package var logFormat = LogFormat.text
    package var logLevel = LogLevel.info
    package var loadReports = false
    package var accessLog = true
    package var logTopLabel = false
    package var drift = false
    package var driftEvery = 1.0
    package var driftPictures = 3_600_000
    package var driftReference = 2_000

    // Access.
    package var tokensFile = ""
    package var trustedProxies: [String] = []
    package var hostNames: [String] = []
    package var corsOrigins: [String] = []
    package var dialects = [Dialect.tensorFlowServing]
    package var labelStudioFiles = ""

    /// True if `listen` was not set, and Vertex AI's variable determines it.
    package var listensByVertex = false

    /// The defaults.
    package init() {}
}

// Choices that only the daemon has; the module Choices has the others. The raw values are those of the configuration
// file, the flags and the variables.
extension Settings {
    /// The clients that may load and unload models over HTTP: those on this machine, all, or no client.
    package enum RepositoryControl: String, CaseIterable, Sendable { case local, all, none }
}

/// The APIs of other servers; their clients can use Ocelli unchanged.
package enum Dialect: String, Sendable, CaseIterable {
    case tensorFlowServing = "tfserving"
    case sageMaker = "sagemaker"
    case vertex
    case deepStack = "deepstack"
    case openAI = "openai"
    case labelStudio = "labelstudio"
}
