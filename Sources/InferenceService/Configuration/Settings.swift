/// Everything that can be configured, with its default. ``SettingsTable`` says what each is for.
package struct Settings: Sendable, Hashable {
    // What is served, and where.
    package var listen = ["127.0.0.1:8080"]
    package var models: [String] = []
    package var defaultModel = ""
    package var load = "eager"
    package var top = 5
    package var repositoryControl = "local"
    package var repositoryPoll = 0.0

    // How models run.
    package var device = "CPU"
    package var hint = "throughput"
    package var precision = "f32"
    package var threads: Int?
    package var streams: Int?
    package var instances: Int?
    package var cacheDirectory = "auto"
    package var cacheSize = 1 << 30
    package var idleUnload = 0.0
    package var loadTrial = true
    package var loadTrialTimeout = 120.0
    package var loadTrialMemory: Int?

    // Flow control.
    package var maxInFlight: Int?
    package var queueLength = 256
    package var queueWait = 30.0
    package var overloadPolicy = "defer"
    package var deadline = 60.0
    package var maxDeadline = 300.0

    // Pictures.
    package var maxPixels = 64_000_000
    package var maxBatch = 64
    package var tolerateTruncated = false

    // HTTP.
    package var maxBody = 20 << 20
    package var maxTotalBody: Int?
    package var maxRequestLine = 8 << 10
    package var maxHeader = 16 << 10
    package var maxHeaderFields = 100
    package var headerTimeout = 10.0
    package var minBodyRate = 1 << 10
    package var bodyGrace = 10.0
    package var idleTimeout = 75.0
    package var writeTimeout = 30.0
    package var maxConnections = 4096
    package var maxRequestsPerConnection = 100_000
    package var eventLoops = 1

    // Operation.
    package var drainDelay = 0.0
    package var drainTimeout = 30.0
    package var logFormat = "text"
    package var logLevel = "info"
    package var accessLog = true
    package var logTopLabel = false

    // Access.
    package var tokensFile = ""

    /// The defaults.
    package init() {}
}
