package import Calibration
internal import FlowControl
internal import FoundationEssentials
internal import HTTPWire
internal import ImagePipeline
internal import Inference
internal import JSON
internal import ServicePlanning
package import Settings
internal import SystemSupport
internal import WireFormats

/// Classifies files in this process: `ocelli classify`.
package enum LocalClassification {
    /// The files and options of one run.
    package struct Request: Sendable {
        package var files: [String] = []
        package var model: String?
        /// The labels in place of the model's own.
        package var labels = LocalLabels()
        package var threshold: Float = 0
        /// The coverage of the sets of labels; nil for no sets.
        package var coverage: Coverage?
        package var crop: String?
        /// The orientation of the stored pictures.
        package var orientation = ImageOrientation.apply
        package var isJSON = false
        /// A folder for the prepared input of each picture.
        package var explain: String?

        package init() {}
    }

    /// Classifies the files in order and writes a line or a paragraph for each.
    /// - Returns: the number of files that failed.
    package static func run(
        _ request: Request, settings: Settings, output: (String) -> Void, complain: (String) -> Void,
        progress: (String) -> Void
    ) async throws -> Int {
        let classifier = try await classifier(request, settings: settings, note: complain, progress: progress)
        let (name, model, options) = (classifier.name, classifier.model, classifier.options)
        var failed = 0
        var explained = PictureNames()
        for (index, file) in request.files.enumerated() {
            if request.files.count > 1 { progress("\(index + 1) of \(request.files.count): \(file)") }
            do {
                let bytes = try InputFile.read(file, maximum: settings.maxBody)
                if let folder = request.explain {
                    let path = folder + "/" + explained.next(for: file)
                    try OutputFile.makeFolder(folder)
                    try explain(EncodedImage(bytes), file: file, to: path, model: model, options: options)
                }
                let start = MonotonicInstant.now
                let result = try await classifier.result(of: EncodedImage(bytes))
                let total = MonotonicInstant.now.nanoseconds(since: start)
                progress("")
                output(
                    request.isJSON
                        ? json(
                            result, head: AnswerHead(file: file), model: name, version: model.description.version,
                            total: total)
                        : text(result, file: file, by: "\(name) version \(model.description.version)"))
            } catch {
                progress("")
                failed += 1
                if request.isJSON {
                    output(failure(error, head: AnswerHead(file: file)))
                } else {
                    complain("\(PrintableText.text(file)): \(message(of: error))")
                }
            }
        }
        return failed
    }

    /// A classifier with the options for its requests.
    struct Classifier: Sendable {
        let name: String
        let model: Model
        let top: Int
        let threshold: Float
        let options: PredictionOptions
        /// The labels of the command; nil for the model's own.
        let labels: LabelClasses?

        /// The classes of a picture.
        func result(of image: EncodedImage) async throws -> ClassificationResult {
            guard let labels else {
                return try await model.classification(of: image, top: top, threshold: threshold, options: options)
            }
            let slot = try await model.limiter.acquire()
            defer { slot.release() }
            let results = await model.classifications(
                of: [image], top: top, threshold: threshold, options: options, slot: slot, labels: labels)
            guard let result = results.first else { throw CommandError("there is no answer") }
            return try result.get()
        }

        /// Classifies a picture. Returns its answer as a line of JSON.
        func line(of bytes: [UInt8], head: AnswerHead) async throws -> String {
            let start = MonotonicInstant.now
            let result = try await result(of: EncodedImage(bytes))
            let total = MonotonicInstant.now.nanoseconds(since: start)
            return json(result, head: head, model: name, version: model.description.version, total: total)
        }
    }

    /// Loads the requested classifier.
    static func classifier(
        _ request: Request, settings: Settings, note: (String) -> Void, progress: (String) -> Void
    ) async throws -> Classifier {
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        progress("loading the model...")
        let (name, model) = try await LocalModel.load(
            request.model ?? settings.defaultModel, plan: plan,
            what: request.labels.isEmpty ? "image classifier" : "model that classifies by labels, such as CLIP",
            note: note
        ) { model in
            request.labels.isEmpty
                ? model.description.classLabels != nil && model.description.imageInput != nil
                : request.labels.fit(model)
        }
        progress("")
        let classes = try await request.labels.classes(of: model, named: name)
        guard let labels = classes?.labels ?? model.description.classLabels else {
            guard model.takesLabels == false else {
                throw CommandError(
                    "model \"\(name)\" has no labels of its own: give them with --labels A,B, or --label for each")
            }
            throw CommandError(
                "model \"\(name)\" is not an image classifier (one image input, one output with labels)"
                    + OtherTask.advice(model, requested: request.model)
            )
        }
        guard request.coverage == nil || model.calibration != nil else {
            throw CommandError(
                "--coverage: model \"\(name)\" "
                    + (model.obstacleToCalibration ?? "is not calibrated: run `ocelli calibrate BUNDLE FOLDER` first"))
        }
        var options = PredictionOptions()
        options.coverage = request.coverage
        options.cropAndScale = request.crop.flatMap { CropAndScale(rawValue: $0) }
        options.orientation = request.orientation
        return Classifier(
            name: name, model: model, top: min(settings.top, labels.count), threshold: request.threshold,
            options: options, labels: classes)
    }

    /// Writes the tensor as PATH.png and PATH.npy, and the steps as PATH.json.
    private static func explain(
        _ image: EncodedImage, file: String, to path: String, model: Model, options: PredictionOptions
    ) throws {
        let result = try model.preprocess(image, options: options)
        var writer = JSONWriter()
        try writer.object { writer in
            writer.member("file", file)
            try PreprocessingAnswer.write(result, to: &writer)
        }
        try OutputFile.write([UInt8](result.png()), to: path + ".png")
        try OutputFile.write([UInt8](result.npy()), to: path + ".npy")
        try OutputFile.write(writer.bytes, to: path + ".json")
    }

    // MARK: Text

    /// - Parameter model: the name and version of the model.
    private static func text(_ result: ClassificationResult, file: String, by model: String) -> String {
        let image = result.image
        let lines = result.classifications.map { entry in
            let score =
                result.areConfidences
                ? Units.decimal(Double(entry.confidence) * 100, places: 1) + "%"
                : Units.decimal(Double(entry.confidence), places: 3)
            return score.right(9) + "  \(PrintableText.text(entry.label))"
                + (entry.isTruncated ? "  (cut off: longer than the model reads)" : "")
        }
        let title =
            "\(PrintableText.text(file))  (\(image.format.rawValue), \(image.width)x\(image.height)"
            + (result.areConfidences ? ")" : "; scores are logits, not confidences)") + "  \(PrintableText.text(model))"
        let mark = result.taught.map { taught in
            if let anomaly = taught.anomaly { return text(anomaly) }
            // The first class is not the answer for an unknown picture.
            return (taught.isKnown == false ? "  unknown: its" : "  its")
                + " distance to that class is \(Units.decimal(Double(taught.distance), places: 3))"
        }
        let set = result.set.map { set in
            let labels = set.isEmpty ? "no label" : set.map { PrintableText.text($0) }.joined(separator: ", ")
            return "  set: \(labels)" + (set.count == 1 ? "" : "  (abstains: not one label)")
        }
        let marks = [set, mark].compactMap { $0 }
        return ([title] + (lines.isEmpty ? ["  (nothing reaches the threshold)"] : lines) + marks)
            .joined(separator: "\n")
    }

    private static func text(_ anomaly: AnomalyMark) -> String {
        let verdict =
            switch anomaly.isAnomaly {
            case true?: "an anomaly"
            case false?: "no anomaly"
            case nil: "too few normal pictures to tell an anomaly"
            }
        let share = anomaly.p.map { ", as unusual as \(Units.decimal(100 * $0, places: 1)) % of normal pictures" } ?? ""
        return "  \(verdict): its distance to the nearest normal picture is \(Units.decimal(anomaly.score, places: 3))"
            + share
    }

    private static func json(
        _ result: ClassificationResult, head: AnswerHead, model: String, version: String, total: UInt64
    ) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            head.write(to: &writer)
            writer.member("model", model)
            writer.member("version", version)
            ClassificationWriter.write(result, total: total, to: &writer)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    static func message(of error: any Error) -> String { (error as? InferenceError)?.message ?? "\(error)" }

    /// The code of the HTTP answer for an error.
    static func code(of error: any Error) -> String {
        (error as? InferenceError).map { ServiceError($0).code.rawValue } ?? "bad_request"
    }

    /// The line of a picture that failed.
    static func failure(_ error: any Error, head: AnswerHead) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            head.write(to: &writer)
            writer.member("error", message(of: error))
            writer.member("code", code(of: error))
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
