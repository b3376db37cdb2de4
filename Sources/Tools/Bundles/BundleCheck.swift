internal import FoundationEssentials
internal import ImagePipeline
internal import Inference
internal import JSON
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
    /// - Returns: lines that describe it, and whether it has no problem and no open decision.
    package static func run(_ path: String, settings: Settings) async -> (text: String, isGood: Bool) {
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        let name = PrintableText.text(path)
        var configuration = plan.modelConfiguration
        // Check the bundle, not the result of an earlier check in the cache.
        configuration.compile.cacheDirectory = nil
        do throws(InferenceError) {
            let model = try await load(FilePath.absolute(path), configuration, plan)
            return (describe(model, path: name), model.loadReport.undecided.isEmpty)
        } catch {
            guard case .invalidBundle(_, let problems) = error else { return ("\(name): \(error.message)", false) }
            let count = problems.count == 1 ? "1 problem" : "\(problems.count) problems"
            return (([("\(name): \(count)")] + problems.map { "  \($0)" }).joined(separator: "\n"), false)
        }
    }

    /// Loads a bundle; for a pipeline, with the models in the same folder and those of the settings.
    private static func load(
        _ path: String, _ configuration: ModelConfiguration, _ plan: ServicePlan
    ) async throws(InferenceError) -> Model {
        guard let bundle = try? ModelBundle(path: path), bundle.manifest?.pipeline != nil else {
            return try await Model.load(contentsOf: path, configuration: configuration)
        }
        func parent(_ path: String) -> String { FilePath.absolute(FilePath.folder(of: path)) }
        // The folder of a version is in the folder of its model.
        let isVersion = path.split(separator: "/").last?.allSatisfy(\.isNumber) ?? false
        let beside = isVersion ? parent(parent(path)) : parent(path)
        let failures = Failures()
        let name = ModelBundle.servedName(of: path)
        let repository = ModelRepository(
            folders: [beside] + plan.folders.filter { $0 != beside },
            named: [NamedModel(name: name, path: path)] + plan.named.filter { $0.name != name },
            configuration: configuration, defaultPolicy: .lazy
        ) { event in
            if case .failed(name, _, _, let found) = event { failures.problems.withLock { $0 = found } }
        }
        do throws(RepositoryError) {
            try repository.discover()
        } catch {
            throw .invalidBundle(name: name, problems: [BundleProblem(path: "pipeline", reason: error.message)])
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
            lines.append(
                "  stage \"\(one.name)\": \(one.task.rawValue) by \(one.model), version \(stage.model.description.version)"
            )
        }
        return lines
    }

    /// The bundles, versions and model files at a path of the command line: the path itself, or the entries of a folder
    /// that is not a bundle. Reads the folder; blocks.
    package static func bundles(at path: String) -> [String] {
        let entries = ModelRepository.entries(of: FilePath.absolute(path))
        return entries.isEmpty ? [path] : entries
    }

    private static func describe(_ model: Model, path: String) -> String {
        let description = model.description
        let open = model.loadReport.undecided.count
        var lines = [
            open == 0
                ? "\(path): good" : "\(path): not finished, \(open == 1 ? "1 remark" : "\(open) remarks") \"$decide\"",
            "  \(description.name), version \(description.version), \(description.backend), on \(model.loadReport.device)",
        ]
        lines += description.inputs.map { "  input \(line(of: $0))" }
        lines += description.outputs.map { "  output \(line(of: $0))" }
        var routes = description.imageInput != nil && description.classLabels != nil ? ["classify"] : []
        if let pipeline = model.pipeline {
            lines += Self.lines(of: pipeline)
            lines.append("  answers to detect")
        } else {
            routes += model.tasks.map(\.rawValue) + ["predict"]
            lines.append("  answers to \(routes.joined(separator: ", ")) and /v2")
        }
        for task in model.tasks {
            guard let labels = model.observationOutput(for: task)?.labels else { continue }
            lines.append("  \(task.rawValue): \(labels.count == 1 ? "1 label" : "\(labels.count) labels")")
        }
        if let head = model.taughtClassifier {
            let distance = head.threshold.map { "unknown beyond a distance of \(Units.decimal(Double($0), places: 3))" }
            lines.append(
                "  classify: taught by \(head.method.rawValue), \(head.labels.count == 1 ? "1 class" : "\(head.labels.count) classes"), "
                    + (distance ?? "none unknown"))
        }
        if let engine = model.loadReport.engine {
            lines.append("  runs on \(engine.version)" + (engine.reason.map { ": \($0)" } ?? ""))
            if !engine.comparedAt.isEmpty {
                lines.append("  both engines were compared with inputs of \(engine.comparedAt.joined(separator: "; "))")
            }
            if let reason = model.loadReport.engineUncompared {
                lines.append("  its answers were not compared with another engine's: \(reason)")
            }
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

    private static func line(of feature: FeatureDescription) -> String {
        var line = "\"\(feature.name)\": \(feature.kind.rawValue), \(feature.elementType.rawValue) "
        line +=
            feature.fileShape == feature.shape ? "\(feature.shape)" : "\(feature.fileShape) run as \(feature.shape)"
        if let image = feature.image {
            let size = image.openSize.map { "its own size (\($0.description))" } ?? "\(image.width)x\(image.height)"
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
