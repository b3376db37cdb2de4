package import FlowControl
internal import FoundationEssentials
internal import Glibc
package import HTTPServer
package import HTTPWire
internal import ImagePipeline
package import Inference
package import Repository
package import Settings
internal import SystemSupport

/// Converts the settings to the configuration of each part, with the reasons for derived values.
package struct ServicePlan {
    package let settings: Settings
    /// The resources of this process, and the numbers derived from them; configured values are upper limits of the
    /// numbers.
    package let resources: HostResources
    package let sizing: Sizing
    package let folders: [String]
    /// The models of `model`.
    package let named: [NamedModel]
    /// The folder of compiled models.
    package let cacheDirectory: String?
    /// True if compiled models can be added to the folder. An image may contain some in a read-only file system.
    package let isCacheWritable: Bool
    /// The configured or default folder of compiled models, if it cannot be used; otherwise nil.
    package let unusableCache: String?
    private let environment: [String: String]

    package init(settings: Settings, environment: [String: String], resources: HostResources = HostResources()) {
        self.settings = settings
        self.environment = environment
        self.resources = resources
        var ceilings = Sizing.Ceilings()
        // Refuse a body that exceeds the budget of all bodies at once; it would wait for room for ever.
        ceilings.bodyBytes = min(settings.maxBody, settings.maxTotalBody ?? .max)
        ceilings.bodyBudgetBytes = settings.maxTotalBody ?? max(settings.maxBody, ceilings.bodyBudgetBytes)
        ceilings.pixels = settings.maxPixels
        ceilings.queueCapacity = settings.queueLength
        ceilings.connections = settings.maxConnections
        var given = Sizing.Given()
        given.threads = settings.threads
        given.streams = settings.streams
        given.inferRequests = settings.instances
        given.slots = settings.maxInFlight
        given.isForLatency = settings.hint == .latency
        sizing = Sizing(resources, ceilings: ceilings, given: given)
        named = settings.model.compactMap { NamedModel(parsing: $0) }
        let comesWithOcelli = settings.models.isEmpty && settings.model.isEmpty
        folders = comesWithOcelli ? [ModelFolders.embedded].compactMap { $0 } : settings.models.map(FilePath.absolute)
        var cache: String?
        switch settings.cacheDirectory {
        case "": cache = nil
        case "auto": cache = ModelFolders.cache(environment: environment)
        default: cache = settings.cacheDirectory
        }
        isCacheWritable = cache.map(Self.prepared) ?? false
        let isUsable = isCacheWritable || cache.map(CompiledModelCache.hasModels) ?? false
        cacheDirectory = isUsable ? cache : nil
        unusableCache = isUsable ? nil : cache
    }

    /// Creates the folder if it is missing. Returns whether it is writable.
    private static func prepared(_ folder: String) -> Bool {
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return access(folder, W_OK | X_OK) == 0
    }

    /// The folder for the kept state of models; nil for none.
    package var stateFolder: String? {
        guard settings.stateDirectory == "auto" else {
            return settings.stateDirectory.isEmpty ? nil : settings.stateDirectory
        }
        return environment["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init)
    }

    /// The sources of models, for messages.
    package var places: String { (named.map { "\($0.name)=\($0.path)" } + folders).joined(separator: ", ") }

    /// The interval of ``RepositoryWatch`` in seconds; 0 never scans.
    package var repositoryPoll: Double { settings.repositoryPoll ?? (named.isEmpty ? 0 : 1) }

    /// The configuration of models that this process serves: ``modelConfiguration`` with a load check.
    package var servingConfiguration: ModelConfiguration {
        var configuration = modelConfiguration
        if !settings.externalLinks {
            let taught = settings.taughtDirectory
            let updates = taught.isEmpty ? [] : [ModelRepository.updatesFolder(in: taught)]
            configuration.links = .within((folders.map { NamedModel(at: $0) } + named).flatMap(\.roots) + updates)
        }
        configuration.singleStream = singleStreamPolicy
        // The time of the load check, and as much again for the load itself, with a margin. Even without a load check a
        // load that hangs must end: reloads wait for it.
        configuration.loadLimit = .seconds(3 * settings.loadTrialTimeout)
        // Bundled models are trusted, and known to run on OpenVINO.
        configuration.comparesEngines = !settings.models.isEmpty || !named.isEmpty
        if settings.loadTrial, !settings.models.isEmpty || !named.isEmpty {
            configuration.loadCheck = loadCheck
        }
        return configuration
    }

    /// The policy for single-stream requests. Only a daemon uses it: a process that runs a model once gains nothing.
    package var singleStreamPolicy: SingleStreamPolicy {
        if let threads = settings.loneThreads { return SingleStreamPolicy(threads: threads) }
        // A variant takes no more memory than its model, which counts as resident too: together at most half of the
        // memory.
        return .automatic(
            threads: sizing.loneThreads.value, maximumResident: Int(clamping: resources.memoryBytes.value / 4))
    }

    /// The load check in a separate process.
    package var childLoadCheck: ChildLoadCheck {
        let compile = modelConfiguration.compile
        var flags = [
            "--device", compile.device, "--hint", compile.hint.rawValue, "--precision", compile.precision.rawValue,
            "--integer-weights=\(settings.integerWeights)", "--cache-dir", cacheDirectory ?? "", "--max-pixels",
            "\(sizing.pixels.value)",
            "--tolerate-truncated=\(settings.tolerateTruncated)", "--picture-formats",
            settings.pictureFormats.map(\.rawValue).joined(separator: ","),
        ]
        flags += ["--engine", settings.engine.rawValue, "--onnxruntime-path", settings.onnxRuntimePath]
        // Not `unconfirmed`: the daemon itself refuses, and a changed setting needs no new load check.
        flags += ["--litert-path", settings.liteRTPath]
        if let threads = compile.threads { flags += ["--threads", "\(threads)"] }
        if let streams = compile.streams { flags += ["--streams", "\(streams)"] }
        // Three quarters leave the rest for the models that are being served.
        let memory = settings.loadTrialMemory.map { UInt64($0) } ?? resources.memoryBytes.value / 4 * 3
        var variables = environment.filter { name, _ in
            !name.hasPrefix("OCELLI_") && !Self.parentOnly.contains(name)
        }
        // A crash is reported by its signal; the backtrace would cover pages and take a second to write.
        variables["SWIFT_BACKTRACE"] = "enable=no"
        // Measured: 6 threads, and two for each stream, on two processors. More processors add threads in the pools of
        // Swift and the engine.
        let processors = min(8, ProcessInfo.processInfo.activeProcessorCount)
        return ChildLoadCheck(
            flags: flags, memory: memory, time: .seconds(settings.loadTrialTimeout),
            threads: 4 + processors + 2 * (compile.streams ?? 1), environment: variables)
    }

    private var loadCheck: LoadCheck {
        let child = childLoadCheck
        let engines = [
            (try? DefaultEngine.shared())?.version ?? "",
            settings.engineLibraries.keys.sorted { $0.rawValue < $1.rawValue }.map {
                (try? DefaultEngine.version($0, library: settings.engineLibraries[$0] ?? "")) ?? ""
            }.joined(separator: ", "),
        ]
        let circumstances = ([OcelliVersion.number] + engines + ["\(child.memory)"] + child.flags).joined(
            separator: " ")
        return LoadCheck(
            remembering: cacheDirectory.map { $0 + "/known-models.json" }, circumstances: circumstances,
            attempt: { child.attempt($0) })
    }

    /// The variables that a service manager sets for one process only.
    private static let parentOnly: Set<String> = [
        "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
    ]

    package var modelConfiguration: ModelConfiguration {
        var configuration = ModelConfiguration()
        configuration.engineRequest.preference = settings.engine
        configuration.engineRequest.libraries = settings.engineLibraries
        configuration.refusesUnconfirmed = settings.unconfirmed == .refuse
        configuration.compile.device = settings.device
        configuration.compile.hint = settings.hint
        configuration.compile.precision = settings.precision
        configuration.integerWeights = settings.integerWeights
        configuration.compile.threads = settings.threads ?? sizing.inferenceThreads.value
        // With the latency hint the engine uses all threads for one prediction, and chooses the number of streams
        // itself.
        configuration.compile.streams = settings.streams ?? (settings.hint == .latency ? nil : sizing.streams.value)
        configuration.compile.streamsOfOneThread = sizing.streamsOfOneThread
        configuration.compile.cacheDirectory = cacheDirectory
        configuration.compile.shapeMemory = settings.shapeCache
        configuration.instances = settings.instances
        configuration.idleUnload = .seconds(settings.idleUnload)
        configuration.maxInFlight = settings.maxInFlight
        configuration.queueCapacity = sizing.queueCapacity.value
        configuration.maxWait = .seconds(settings.queueWait)
        configuration.overloadTarget = .seconds(settings.overloadTarget)
        configuration.overloadPolicy = settings.overloadPolicy
        configuration.imageLimits.maxPixels = sizing.pixels.value
        configuration.imageLimits.formats = Set(settings.pictureFormats)
        configuration.imageLimits.tolerateTruncation = settings.tolerateTruncated
        return configuration
    }

    /// The memory limit in bytes of all pictures that are decoded at the same time.
    package var decodeBudget: Derived<Int> {
        if let given = settings.maxTotalDecode { return Derived(given, because: "as configured") }
        let memory = Int(clamping: resources.memoryBytes.value)
        return Derived(max(1 << 20, memory / 2), because: "half of the memory (\(Units.bytes(memory)))")
    }

    /// The memory limit in bytes of all answers that wait for their clients.
    package var answerBudget: Derived<Int> {
        if let given = settings.maxTotalAnswers { return Derived(given, because: "as configured") }
        return Derived(max(1 << 20, sizing.bodyBudgetBytes.value / 4), because: "a quarter of max_total_body")
    }

    package func serverConfiguration(_ listening: ListenPlan, trustedProxies: TrustedProxies) -> HTTPServerConfiguration
    {
        var configuration = HTTPServerConfiguration()
        configuration.listeners = listening.listeners
        configuration.trustedProxies = trustedProxies
        configuration.serverName = "ocelli/\(OcelliVersion.number)"
        configuration.eventLoops = settings.eventLoops ?? sizing.eventLoops.value
        configuration.maxBodyBytes = sizing.bodyBytes.value
        configuration.maxTotalBodyBytes = sizing.bodyBudgetBytes.value
        configuration.maxTotalAnswerBytes = answerBudget.value
        configuration.wireLimits.requestLineBytes = settings.maxRequestLine
        configuration.wireLimits.headerBytes = settings.maxHeader
        configuration.wireLimits.fieldCount = settings.maxHeaderFields
        configuration.headerTimeout = .seconds(settings.headerTimeout)
        configuration.minBodyRate = settings.minBodyRate
        configuration.bodyTimeout = .seconds(settings.bodyTimeout)
        configuration.bodyGrace = .seconds(settings.bodyGrace)
        configuration.idleTimeout = .seconds(settings.idleTimeout)
        configuration.writeTimeout = .seconds(settings.writeTimeout)
        configuration.probesHalfClosed = settings.probeHalfClosed
        configuration.maxConnections = sizing.connections.value
        configuration.maxRequestsPerConnection = settings.maxRequestsPerConnection
        return configuration
    }
}

extension Settings {
    /// The models that `/readyz` waits for. Invalid values are refused at start.
    package var readyCondition: ReadyCondition { ReadyCondition(readyWhen) ?? .all }
}

extension Settings {
    /// The paths of the libraries of engines that are opened at run time; empty for those included with Ocelli.
    package var engineLibraries: [EnginePreference: String] { [.onnxruntime: onnxRuntimePath, .litert: liteRTPath] }
}
