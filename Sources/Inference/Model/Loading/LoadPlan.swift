/// The plan of a load: the model's files, the configuration, and the findings of earlier attempts. If a change of the
/// plan may mend a failed attempt, another one follows.
package struct LoadPlan: Sendable {
    /// A bundle's folder, or a model file.
    package let path: String
    /// The name and the version to serve it under; nil takes them from the bundle.
    package let name: String?, version: String?
    /// The network that is loaded, of a bundle with several; nil for a model, or the whole bundle.
    let part: BundlePart?
    /// The file of the network, which exists only during the load, if it was cut out of a file with several.
    let cut: String?
    package private(set) var configuration: ModelConfiguration
    /// The difference between the answers of the batch variant and those of single items; the variant is then left out.
    package private(set) var batchDifference: String?
    /// The difference that several streams have shown in this load; the model then runs with one stream.
    private var streamDifference: String?
    /// The answers of one stream, if an earlier attempt has computed them.
    private(set) var answers: ReferenceAnswers?
    /// The report of the previous attempt, if its answers differed.
    private(set) var differing: LoadReport?
    /// The report and the load check of the previous attempt, if it ended with a change of the engine.
    private(set) var firstEngine: (report: LoadReport, loadCheck: LoadCheck.Report?)?

    /// The plan of the first attempt.
    package init(path: String, name: String? = nil, version: String? = nil, configuration: ModelConfiguration) {
        (part, cut) = (nil, nil)
        self.path = path
        self.name = name
        self.version = version
        self.configuration = configuration
    }

    /// The plan for one network of the bundle that a plan is for.
    /// - Parameters:
    ///   - cut: the file of the network, if it was cut out of a file with several.
    ///   - isChecked: true if the load check has loaded the whole bundle.
    init(_ plan: LoadPlan, part: BundlePart, cut: String? = nil, isChecked: Bool) {
        (self.part, self.cut) = (part, cut)
        (path, name, version) = (plan.path, plan.name, plan.version)
        configuration = plan.configuration
        // Those of the bundle are answers of all networks together.
        configuration.comparesGoldens = false
        // Pages, lines and texts have any size.
        configuration.engineRequest.savesMemory = part != .words(.pictures)
        if isChecked { configuration.loadCheck = nil }
    }

    /// The configuration with a bundle's settings, and with one stream if the streams are known to differ.
    package func configuration(for runtime: ModelRuntime?) -> ModelConfiguration {
        var configuration = configuration
        if let runtime { configuration.apply(runtime) }
        if configuration.streamDifference != nil { configuration.compile.streams = 1 }
        return configuration
    }

    /// The maximum number of items of one inference; 1 compiles no batch variant.
    package func batchLimit(for runtime: ModelRuntime?) -> Int { batchDifference == nil ? runtime?.batch ?? 1 : 1 }

    /// Plans an attempt without the batch variant, or with one stream, because of a difference of their answers. Each
    /// is changed at most once, so there are at most three attempts.
    /// - Throws: if the answers of one stream differ too.
    package mutating func avoid(_ difference: String, ofBatches: Bool) throws(InferenceError) {
        // The load check has already run for this file.
        configuration.loadCheck = nil
        if ofBatches, batchDifference == nil {
            batchDifference = difference
        } else if let first = streamDifference {
            throw .engine(
                EngineError(
                    kind: .failure, operation: "give the same answers twice",
                    detail: "\(first); compiled once more, with one stream, \(difference)"))
        } else {
            streamDifference = difference
            configuration.compile.streams = 1
        }
    }

    /// Plans the attempt after one with different answers.
    mutating func avoid(_ difference: StreamDifference, in report: LoadReport) throws(InferenceError) {
        try avoid(difference.text, ofBatches: difference.isOfBatches)
        answers = difference.answers
        differing = report
    }

    /// Plans an attempt with the other engine, which is stored as the choice for the file.
    mutating func changeEngine(after report: LoadReport, _ loadCheck: LoadCheck.Report?) {
        configuration.loadCheck = nil
        answers = nil
        firstEngine = (report, loadCheck)
    }
}

extension ModelConfiguration {
    /// Applies the settings of the bundle's `runtime`, which take precedence over the defaults.
    mutating func apply(_ runtime: ModelRuntime) {
        if let device = runtime.device { compile.device = device }
        if let hint = runtime.hint { compile.hint = hint }
        if let engine = runtime.engine { (engineRequest.preference, engineRequest.isRequired) = (engine, true) }
        if let precision = runtime.precision { compile.precision = precision }
        if let integerWeights = runtime.integerWeights { self.integerWeights = integerWeights }
        if let instances = runtime.instances { self.instances = instances }
        if let maxInFlight = runtime.maxInFlight { self.maxInFlight = maxInFlight }
        if let threads = runtime.loneThreads { singleStream = SingleStreamPolicy(threads: threads) }
    }
}
