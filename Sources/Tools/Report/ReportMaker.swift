internal import FlowControl
internal import FoundationEssentials
internal import Inference
internal import LoadGenerator
internal import Repository
internal import ServicePlanning
package import Settings
internal import SystemSupport

/// Measures a model: `ocelli report`.
package struct ReportMaker: Sendable {
    /// The model and the options of one run.
    package struct Request: Sendable {
        /// A bundle's folder, a model file, or the name of a model in the models folders.
        package var model = ""
        /// The time in seconds for each of the measurements: the latency, and each number in flight.
        package var seconds = 2.0
        /// The maximum number of predictions in flight; nil for the number of the model's slots, at least 4.
        package var inFlight: Int?
        /// The number of listed layers.
        package var layers = 10
        /// True if the report is JSON.
        package var isJSON = false

        package init() {}
    }

    private let request: Request
    private let plan: ServicePlan
    private let progress: @Sendable (String) -> Void

    /// Measures. Returns the text of the report.
    package static func run(
        _ request: Request, settings: Settings, progress: @escaping @Sendable (String) -> Void
    ) async throws -> String {
        let maker = ReportMaker(
            request: request,
            plan: ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment),
            progress: progress)
        defer { progress("") }
        let cache = ReportCache()
        // Ctrl-C must remove the cache, because compiled models are large.
        try SignalReader.start(
            deliver: { signal in
                cache.remove()
                progress("")
                Process.exit(128 + signal.number)
            },
            fail: { _ in
                // Otherwise only SIGKILL could end the measurement.
                cache.remove()
                Process.exit(1)
            })
        defer { cache.remove() }
        let report = try await maker.measure(cache: cache.make())
        return request.isJSON ? report.json : report.text
    }

    private func measure(cache: String) async throws -> ModelReport {
        var measurement = MeasurementWarnings(processors: plan.resources.cpus.value)
        measurement.loadBefore = ProcessFigures.loadAverage
        var report = ModelReport()
        report.processors = plan.resources.cpus.value
        report.path = try path()
        var configuration = plan.modelConfiguration
        if let requestedInFlight = request.inFlight { configuration.maxInFlight = requestedInFlight }

        configuration.compile.cacheDirectory = cache

        progress("loading, uncached...")
        let before = Process.residentBytes
        report.uncached = try await ModelAtPath.load(report.path, configuration).loadReport
        report.firstPrediction = report.uncached.firstPrediction
        progress("loading, cached...")
        // Measure the second load: the first one includes initialization of the engine, and compiling leaves memory
        // that does not belong to the model.
        let model = try await ModelAtPath.load(report.path, configuration)
        report.cached = model.loadReport
        if let before, let after = Process.residentBytes { report.modelBytes = max(0, after - before) }
        report.model = model.description.name
        let engine = model.loadReport.engine
        report.engine = if let engine { engine.version } else { try ReportMaker.engineVersion() }
        report.device = model.loadReport.device
        report.hint = model.configuration.compile.hint.rawValue
        report.precision = model.loadReport.execution.precision ?? model.configuration.compile.precision.rawValue
        report.instances = model.instances
        report.slots = model.limiter.snapshot.limit

        let load = try PredictionLoad(model)
        try await predict(load, &report, &measurement)
        report.singleStream = try await singleStream(report, configuration)
        progress("measuring memory...")
        report.predictionBytes = try await model.bytesPerPrediction(count: 8) { Process.residentBytes }
        progress("measuring layers...")
        configuration.compile.profiling = true
        configuration.compile.cacheDirectory = nil
        configuration.instances = 1
        report.setLayers(
            try await ModelAtPath.load(report.path, configuration).layerProfiles(runs: 20), top: request.layers)
        report.warnings = measurement.warnings
        if model.reader != nil {
            report.warnings.append(
                "a reader of text: times, memory and layers are those of its detector on one small picture; `ocelli bench` measures "
                    + "whole answers")
        }
        // Sessions of ONNX Runtime are never cached.
        if !report.cached.isCached, engine?.name != EnginePreference.onnxruntime.rawValue {
            report.warnings.append(
                "the engine did not use the compiled model from the cache: the line \"cached\" is not valid")
        }
        return report
    }

    /// Measures successive and parallel predictions.
    private func predict(
        _ load: PredictionLoad, _ report: inout ModelReport, _ measurement: inout MeasurementWarnings
    ) async throws {
        // The difference between repetitions shows how quiet the machine is.
        let repetitions = 5
        var all: [UInt64] = []
        for repetition in 1...repetitions {
            progress("predicting, one after another: \(repetition) of \(repetitions)...")
            let run = try await load.run(inFlight: 1, seconds: request.seconds / Double(repetitions))
            all += run.latencies
            if let median = SampleStatistics(run.latencies)?.p50 { measurement.medians.append(Double(median)) }
        }
        if report.firstPrediction == nil { report.firstPrediction = all.first }
        report.latency = SampleStatistics(all)
        measurement.latency = report.latency
        // The limiter's slots are its own: more predictions than slots would only wait, which would be measured.
        let maximum = max(1, min(report.slots, 64))
        for inFlight in Self.steps(to: maximum) {
            progress("predicting, \(inFlight) in flight of up to \(maximum)...")
            let run = try await load.run(inFlight: inFlight, seconds: request.seconds)
            guard let latency = SampleStatistics(run.latencies) else { continue }
            report.throughput.append(
                ModelReport.Throughput(inFlight: inFlight, perSecond: run.perSecond, latency: latency))
        }
    }

    /// Measures successive predictions on the variant for single-stream requests, if the daemon would have one.
    private func singleStream(
        _ report: ModelReport, _ configuration: ModelConfiguration
    ) async throws -> ModelReport.SingleStream? {
        if case .automatic = plan.singleStreamPolicy, report.latency.map({ $0.p50 < 1_000_000 }) ?? true { return nil }
        progress("predicting on the variant for single-stream requests...")
        var configuration = configuration
        configuration.singleStream = plan.singleStreamPolicy
        let model = try await ModelAtPath.load(report.path, configuration)
        await model.prepareForSingleStream()
        let run = try await PredictionLoad(model).run(inFlight: 1, seconds: request.seconds)
        guard let known = model.singleStreamReport, known.state == .ready, let latency = SampleStatistics(run.latencies)
        else {
            return nil
        }
        return ModelReport.SingleStream(
            threads: known.threads, latency: latency, load: known.load, isCached: known.isCached,
            bytes: known.residentBytes)
    }

    /// The numbers 1, 2, 3, 4, then increasing by half.
    static func steps(to maximum: Int) -> [Int] {
        var steps = Array(1...min(maximum, 4))
        while let last = steps.last, last < maximum { steps.append(min(maximum, last + last / 2)) }
        return steps
    }

    private static func engineVersion() throws -> String {
        do throws(EngineError) { return try DefaultEngine.shared().version } catch {
            throw CommandError(error.message)
        }
    }

    /// The path of the model: that of the request if it exists (the report names a version by its path), otherwise that
    /// of a name in the models folders.
    private func path() throws -> String {
        if FileManager.default.fileExists(atPath: request.model) {
            return ModelAtPath.resolved(request.model) { _ in }
        }
        let repository = ModelRepository(
            folders: plan.folders, named: plan.named, configuration: plan.modelConfiguration, defaultPolicy: .lazy)
        do throws(RepositoryError) { try repository.discover() } catch { throw CommandError(error.message) }
        do throws(InferenceError) {
            return try repository.location(of: request.model)
        } catch {
            throw CommandError("no such file or folder \"\(request.model)\", and \(error.message)")
        }
    }
}
