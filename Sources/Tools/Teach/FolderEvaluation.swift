internal import FoundationEssentials
internal import Glibc
internal import Inference
internal import JSON
internal import ServicePlanning
package import Settings
internal import SystemSupport
internal import Teaching

/// Runs a model on pictures of known classes: `ocelli teach NAME --evaluate DIR`.
package enum FolderEvaluation {
    /// Evaluates a model.
    /// - Parameter request: `name` is the model, and `pictures` a folder with a subfolder for each class; pictures of
    ///   other classes should be answered as unknown.
    /// - Returns: the report's text, and the number of pictures that could not be used.
    package static func run(
        _ request: FolderTeaching.Request, settings: Settings, complain: (String) -> Void, progress: (String) -> Void
    ) async throws -> (text: String, failed: Int) {
        if let file = request.html { try OutputFile.checkReport(file, flag: "--html") }
        let folders = try ClassFolders(request.pictures)
        let (name, model) = try await model(request, settings, progress)
        guard let labels = model.description.classLabels, model.isImageClassifier else {
            throw CommandError("model \"\(name)\" is not an image classifier: \(model.abilities)")
        }
        let outcomes = await PicturePool(question: .classes(model), maximum: settings.maxBody)
            .run(folders.pictures, progress: progress)
        var evaluated: [TeachReport.EvaluatedPicture] = [], failures: [TeachReport.Failure] = []
        for (picture, outcome) in zip(folders.pictures, outcomes) {
            let file = picture.place.name
            guard outcome.failure.isEmpty else {
                complain(PrintableText.text("\(file): \(outcome.failure)"))
                failures.append(TeachReport.Failure(file: file, reason: outcome.failure, code: outcome.code))
                continue
            }
            evaluated.append(
                TeachReport.EvaluatedPicture(
                    file: file, label: folders.labels[picture.label], answer: outcome.label, isKnown: outcome.isKnown))
        }
        guard !evaluated.isEmpty else { throw CommandError("none of the pictures in \(request.pictures) can be used") }
        let report = TeachReport(
            name: name, origin: .serving(version: model.description.version, folder: request.pictures), labels: labels,
            evaluated: evaluated, failures: failures, threshold: model.taughtClassifier?.knownDistance)
        if let file = request.html { try OutputFile.write(Array(report.html.utf8), to: file) }
        progress("")
        return (request.isJSON ? report.json : report.text, failures.count)
    }

    /// The model with a name: the bundle that `teach` would write, or one of the settings' models.
    private static func model(
        _ request: FolderTeaching.Request, _ settings: Settings, _ progress: (String) -> Void
    ) async throws -> (String, Model) {
        progress("loading the model...")
        defer { progress("") }
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        let bundle = request.bundle(settings)
        guard access(bundle + "/model.json", F_OK) == 0 else {
            return try await LocalModel.load(request.name, plan: plan, what: "image classifier", note: { _ in }) {
                $0.isImageClassifier
            }
        }
        return (request.name, try await ModelAtPath.load(bundle, plan.modelConfiguration))
    }
}
