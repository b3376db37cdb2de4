internal import Calibration
internal import FoundationEssentials
internal import ImagePipeline
internal import Inference
internal import JSON
internal import Observations
internal import Repository
internal import ServicePlanning
package import Settings
internal import Synchronization
internal import SystemSupport
internal import Teaching
internal import WireFormats

/// Checks bundles as the daemon does when it loads them: `ocelli check`.
package enum BundleCheck {
    /// Loads a bundle or model file, and runs it once on zeros.
    /// - Returns: lines that describe it, or a JSON object, and whether it has no problem and no open decision.
    package static func run(
        _ path: String, settings: Settings, isJSON: Bool = false
    ) async -> (text: String, isGood: Bool) {
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        let name = PrintableText.text(path)
        var configuration = plan.modelConfiguration
        // Check the bundle, not the result of an earlier check in the cache.
        configuration.compile.cacheDirectory = nil
        if let labels = placeholder(path) {
            return (isJSON ? BundleCheckJSON.text(placeholder: labels, path: path) : describe(labels, path: name), true)
        }
        do throws(InferenceError) {
            let model = try await load(FilePath.absolute(path), configuration, plan)
            return (
                isJSON ? BundleCheckJSON.text(model, path: path) : describe(model, path: name),
                model.loadReport.undecided.isEmpty
            )
        } catch {
            if isJSON { return (BundleCheckJSON.text(error, path: path), false) }
            guard case .invalidBundle(_, let problems) = error else { return ("\(name): \(error.message)", false) }
            let count = problems.count == 1 ? "1 problem" : "\(problems.count) problems"
            return (([("\(name): \(count)")] + problems.map { "  \($0)" }).joined(separator: "\n"), false)
        }
    }

    /// The labels of a bundle that has no model yet; nil for others, and with a problem.
    private static func placeholder(_ path: String) -> [String]? {
        (try? ModelBundle(path: FilePath.absolute(path), allowsPlaceholder: true))?.manifest?.placeholder
    }

    private static func describe(_ labels: [String], path: String) -> String {
        let classes = labels.isEmpty ? "no classes are listed" : "classes: \(labels.joined(separator: ", "))"
        return "\(path): a placeholder without a model; \(PrintableText.text(classes))"
    }

    /// Loads a bundle; for a pipeline, with the models in the same folder and those of the settings.
    private static func load(
        _ path: String, _ configuration: ModelConfiguration, _ plan: ServicePlan
    ) async throws(InferenceError) -> Model {
        guard let bundle = try? ModelBundle(path: path), bundle.manifest?.pipeline != nil else {
            return try await Model.load(contentsOf: path, configuration: configuration)
        }
        let failures = Failures()
        let repository: ModelRepository, name: String
        do throws(RepositoryError) {
            (repository, name) = try ModelAtPath.repository(path, configuration, plan) { event in
                guard case .failed(let name, _, _, let found) = event, name == bundle.name else { return }
                failures.problems.withLock { $0 = found }
            }
        } catch {
            throw .invalidBundle(
                name: bundle.name, problems: [BundleProblem(path: "pipeline", reason: error.message)])
        }
        do throws(InferenceError) {
            return try await repository.model(named: name)
        } catch {
            let found = failures.problems.withLock { $0 }
            throw found.isEmpty ? error : .invalidBundle(name: name, problems: found)
        }
    }

    /// The problems that prevented a bundle from being loaded.
    private final class Failures: Sendable {
        let problems = Mutex<[BundleProblem]>([])
    }

    private static func lines(of pipeline: Pipeline) -> [String] {
        let detector = pipeline.description.model
        var lines = ["  finds by \(detector), version \(pipeline.detector.description.version)"]
        if let tiles = pipeline.description.tiles { lines[0] += ", in tiles of \(tiles.size) pixels" }
        for stage in pipeline.allStages {
            let one = stage.description
            let version =
                stage.model.map { "version \($0.description.version)" }
                ?? "which is not among the models here: a taught model, which the daemon answers (taught_dir)"
            lines.append("  stage \"\(one.name)\": \(one.task.rawValue) by \(one.model), \(version)")
        }
        return lines
    }

    private static func lines(of reader: Reader) -> [String] {
        reader.models.map { part, model in
            "  \(part.rawValue) by \(model.description.name), \(model.description.backend), on \(model.loadReport.device); its answers "
                + "are \(model.loadReport.confirmation.text)"
        }
    }

    private static func lines(of words: Words) -> [String] {
        let model = words.textModel
        var lines = [
            "  texts by \(words.description[.texts] ?? ""), on \(model.loadReport.device): at most \(words.longestText) tokens; its "
                + "answers are \(model.loadReport.confirmation.text)"
        ]
        if words.description.takesPictures {
            lines[0] += "; pictures by \(words.description[.pictures] ?? "")"
            lines.append(
                words.scoring.map { scoring in
                    "  classify: labels of the request, scale \(scoring.scale), bias \(scoring.bias), \(scoring.activation)"
                }
                    ?? "  classify: no scale is stated; set \"zero_shot\": {\"scale\": …} in model.json to classify by labels"
            )
        }
        return lines
    }

    /// The bundles at a path of the command line: the path itself, or the entries of a folder that is not a bundle.
    package struct Contents: Sendable {
        /// The paths of bundles, versions and model files.
        package let bundles: [String]
        /// The entries of the folder that the daemon ignores, each with the reason.
        package let ignored: [String]
    }

    /// Reads a path, and the folder that it names; blocks.
    package static func contents(of path: String) -> Contents {
        let found = ModelRepository.contents(of: FilePath.absolute(path))
        guard !found.served.isEmpty else { return Contents(bundles: [path], ignored: []) }
        return Contents(bundles: found.served, ignored: found.leftOut.map { PrintableText.text($0) })
    }

    private static func describe(_ model: Model, path: String) -> String {
        let description = model.description
        let open = model.loadReport.undecided.count
        var lines = [
            open == 0
                ? "\(path): \(SendingAdvice.verdict(on: model))"
                : "\(path): not finished, \(open == 1 ? "1 remark" : "\(open) remarks") \"$decide\"",
            "  \(description.name), version \(description.version), \(description.backend), on \(model.loadReport.device)",
        ]
        lines += description.inputs.map { "  input \(line(of: $0))" }
        lines += description.outputs.map { "  output \(line(of: $0))" }
        let routes = routes(of: model).joined(separator: ", ")
        if let pipeline = model.pipeline {
            lines += Self.lines(of: pipeline)
            lines.append("  answers to \(routes)")
        } else if let reader = model.reader {
            lines += Self.lines(of: reader)
            lines.append("  answers to \(routes)")
        } else if let words = model.words {
            lines += Self.lines(of: words)
            lines.append("  answers to \(routes)\(model.hasTensors ? " and /v2" : "")")
        } else {
            lines.append("  answers to \(routes) and /v2")
        }
        lines += SendingAdvice.lines(on: model, path: path)
        for task in model.tasks {
            guard let labels = model.observationOutput(for: task)?.labels else { continue }
            lines.append("  \(task.rawValue): \(labels.count == 1 ? "1 label" : "\(labels.count) labels")")
        }
        lines += linesOnClasses(of: model)
        if let engine = model.loadReport.engine {
            lines.append("  runs on \(engine.version)" + (engine.reason.map { ": \($0)" } ?? ""))
        }
        if model.pipeline == nil, model.reader == nil {
            lines.append("  its answers are \(model.loadReport.confirmation.text)")
        }
        if let weights = model.loadReport.integerWeights {
            lines.append(
                "  8-bit weights with zero points: \(weights.inIntegers) of \(weights.convolutions) convolutions and "
                    + "\(weights.depthwiseInIntegers) of \(weights.depthwiseConvolutions) depthwise ones run in integers"
                    + (weights.reason.map { ": \($0)" } ?? ""))
        }
        if let goldens = model.loadReport.goldens {
            lines.append("  \(goldens.agreed) of \(goldens.compared) goldens agree")
            if let summary = goldens.summary { lines.append("  warning: \(summary)") }
        }
        if let provenance = model.provenance { lines += ProvenanceAnswer.lines(provenance) }
        lines += model.loadReport.advice.map { "  warning: \($0)" }
        lines += model.loadReport.undecided.map { "  still to decide: \($0)" }
        return lines.joined(separator: "\n")
    }

    /// The method of taught classes, and the calibration of a classifier.
    private static func linesOnClasses(of model: Model) -> [String] {
        var lines: [String] = []
        if let head = model.taughtClassifier {
            let distance = head.knownDistance.map {
                "unknown beyond a distance of \(Units.decimal(Double($0), places: 3))"
            }
            lines.append(
                "  classify: taught by \(head.method.rawValue), \(head.labels.count == 1 ? "1 class" : "\(head.labels.count) classes"), "
                    + (distance ?? "none unknown"))
        }
        if let calibration = model.calibration {
            lines.append(
                "  classify: calibrated by \(calibration.pictures == 1 ? "1 picture" : "\(calibration.pictures) pictures"), temperature "
                    + Units.decimal(calibration.temperature, places: 3))
        }
        return lines
    }

    /// The tasks that a model answers to, by the names of routes.
    static func routes(of model: Model) -> [String] {
        if model.pipeline != nil { return [ObservationTask.detect.rawValue] }
        if model.reader != nil { return [ObservationTask.read.rawValue] }
        let description = model.description
        let classifies = description.imageInput != nil && description.classLabels != nil
        let tasks = model.tasks.map(\.rawValue) + (model.tasks.isEmpty && model.embedsTexts ? ["embed"] : [])
        return (classifies || model.takesLabels ? ["classify"] : []) + tasks + (model.hasTensors ? ["predict"] : [])
    }

    private static func line(of feature: FeatureDescription) -> String {
        var line = "\"\(feature.name)\": \(feature.kind.rawValue), \(feature.elementType.rawValue) "
        line +=
            feature.fileShape == feature.shape ? "\(feature.shape)" : "\(feature.fileShape) run as \(feature.shape)"
        if let image = feature.image {
            let size =
                image.openSize.map { size in
                    size.usual.map { "\($0.width)x\($0.height), or size=\(size.choice)" }
                        ?? "its own size (\(size.description))"
                } ?? "\(image.width)x\(image.height)"
            line +=
                ", \(size) \(image.channelOrder.rawValue) \(image.layout.rawValue), "
                + "crop_and_scale \(image.cropAndScale.rawValue)"
        }
        if let choices = feature.choices { line += ", \(choices)" }
        if let labels = feature.labels { line += ", \(labels.count) labels" }
        if let treatment = feature.treatment { line += ", \(treatment)" }
        return line
    }
}
