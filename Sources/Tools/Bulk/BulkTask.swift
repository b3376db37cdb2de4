internal import Calibration
internal import ImagePipeline
internal import Inference
internal import Settings
internal import SystemSupport

/// The task of a bulk run for each picture.
package enum BulkTask: Sendable {
    case classify(LocalClassification.Request)
    case observe(LocalObservation.Request)

    /// The loaded model, with everything that its answers depend on.
    struct Answerer: Sendable {
        let model: Model
        /// The line for a picture.
        let line: @Sendable (_ bytes: [UInt8], _ head: AnswerHead) async throws -> String
        /// An identifier that differs for another model (its files and labels) and for other settings.
        let run: String
    }

    /// Loads the model. Throws if it does not support the task.
    func answerer(settings: Settings, progress: (String) -> Void) async throws -> Answerer {
        // No notes: each line has the version. Everything that changes answers: the request, and the settings for
        // arithmetic and pictures.
        var facts = [
            settings.engine.rawValue, settings.precision.rawValue, settings.device, "\(settings.integerWeights)",
            "\(settings.tolerateTruncated)",
        ]
        let model: Model
        let line: @Sendable (_ bytes: [UInt8], _ head: AnswerHead) async throws -> String
        switch self {
        case .classify(let request):
            let classifier = try await LocalClassification.classifier(
                request, settings: settings, note: { _ in }, progress: progress)
            model = classifier.model
            facts += ["classify", "\(classifier.top)", "\(request.threshold)", request.crop ?? "", classifier.name]
            facts += Self.fact(of: request.orientation) + request.labels.facts
            if let coverage = request.coverage { facts.append("coverage \(coverage.share)") }
            line = { try await classifier.line(of: $0, head: $1) }
        case .observe(let request):
            let observer = try await LocalObservation.observer(
                request, settings: settings, note: { _ in }, progress: progress)
            model = observer.model
            facts += [
                "\(observer.request.task)", request.threshold.map { "\($0)" } ?? "", request.iou.map { "\($0)" } ?? "",
                request.top.map { "\($0)" } ?? "", request.classes ?? "", request.crop ?? "", observer.name,
            ]
            facts += Self.fact(of: request.orientation)
            if observer.request.task == .read {
                facts += [
                    request.findThreshold.map { "\($0)" } ?? "", "\(request.characters)", "\(settings.maxLines)",
                ]
            }
            line = { try await observer.line(of: $0, head: $1) }
        }
        let lent = model
        guard let digest = await LoaderThread.run({ lent.filesDigest }) else {
            throw CommandError("the files of model \"\(model.description.name)\" cannot be read")
        }
        facts += [digest] + (model.description.classLabels ?? [])
        let run = SHA256.text(SHA256.digest(Array(facts.joined(separator: "\0").utf8)).prefix(8))
        return Answerer(model: model, line: line, run: run)
    }

    /// The fact for an orientation; none for the default, so that lines of earlier versions can be resumed.
    private static func fact(of orientation: ImageOrientation) -> [String] {
        orientation == .apply ? [] : ["orientation \(orientation.rawValue)"]
    }
}
