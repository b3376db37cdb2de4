internal import Calibration
internal import FoundationEssentials
internal import Glibc
internal import ImagePipeline
internal import Inference
internal import JSON
internal import ServicePlanning
package import Settings
internal import SystemSupport

/// Calibrates a classifier by a folder of pictures with known labels: `ocelli calibrate BUNDLE FOLDER`.
package struct FolderCalibration {
    /// The bundle, the pictures and the options of one run.
    package struct Request: Sendable {
        package var bundle = ""
        /// A folder with a subfolder for each label.
        package var pictures = ""
        package var isJSON = false

        package init() {}
    }

    private let request: Request
    private let settings: Settings
    private let complain: (String) -> Void
    private let progress: (String) -> Void

    /// Runs the model on all pictures, and writes calibration.json.
    /// - Returns: the report's text, and the number of pictures that could not be used.
    /// - Throws: before anything is written.
    package static func run(
        _ request: Request, settings: Settings, complain: @escaping (String) -> Void,
        progress: @escaping (String) -> Void
    ) async throws -> (text: String, failed: Int) {
        let calibration = FolderCalibration(
            request: request, settings: settings, complain: complain, progress: progress)
        return try await calibration.run()
    }

    private func run() async throws -> (text: String, failed: Int) {
        let bundle = try bundle()
        guard let file = CalibrationFile.path(in: bundle) else {
            throw CommandError(
                "\(bundle.path) has no folder of its own in which \(ClassifierCalibration.fileName) could be: move it to a folder, "
                    + "and run `ocelli init` there, which writes model.json")
        }
        guard access(FilePath.parent(of: file), W_OK | X_OK) == 0 else {
            throw CommandError("\(file) cannot be written: \(SystemError.words(errno))")
        }
        let folders = try ClassFolders(request.pictures)
        if folders.unclassifiedPictures > 0 {
            complain(
                "\(TeachReport.count(folders.unclassifiedPictures, "picture")) in \(request.pictures) itself left out: only those in its folders have a label"
            )
        }
        let model = try await load(bundle)
        let classes = try classes(of: folders, model)
        let pool = PicturePool(question: .confidences(model), maximum: settings.maxBody)
        let outcomes = await pool.run(folders.pictures, progress: progress)
        progress("calibrating...")
        let (answers, failed) = try answers(outcomes, folders, classes, model)
        let read = await LoaderThread.run { model.stamp.isCurrent ? ModelDigest.text(of: bundle.source) : nil }
        guard let digest = read else {
            throw CommandError("the files of \(bundle.path) have changed, or cannot be read: run the command again")
        }
        guard let calibration = ClassifierCalibration(model: digest, by: answers) else {
            throw CommandError("none of the pictures in \(request.pictures) can be used")
        }
        try OutputFile.replace(file, with: calibration.text)
        progress("")
        let report = CalibrationReport(
            name: bundle.name, file: file, calibration: calibration, answers: answers,
            failed: failed)
        return (request.isJSON ? report.json : report.text, failed)
    }

    /// The bundle at the path: for a folder of numbered versions, the newest one.
    private func bundle() throws(CommandError) -> ModelBundle {
        do throws(InferenceError) {
            return try ModelBundle(path: ModelAtPath.resolved(request.bundle, note: complain))
        } catch {
            throw CommandError(error.message)
        }
    }

    /// Loads the model without the calibration that it may have, which may belong to earlier files.
    private func load(_ bundle: ModelBundle) async throws(CommandError) -> Model {
        progress("loading the model...")
        defer { progress("") }
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        var configuration = plan.modelConfiguration
        configuration.comparesGoldens = false
        guard bundle.manifest?.pipeline == nil, bundle.reader == nil, bundle.words == nil else {
            throw CommandError(
                "\(bundle.path) runs several networks: only a classifier with labels of its own can be calibrated")
        }
        let model = try await ModelAtPath.loadUncalibrated(bundle.path, configuration)
        if let obstacle = model.obstacleToCalibration {
            throw CommandError("\(bundle.path) cannot be calibrated, because it \(obstacle)")
        }
        return model
    }

    /// The index of the class of each folder.
    /// - Throws: if the model has no such label, or several with the same text, or the folders have no picture.
    private func classes(of folders: ClassFolders, _ model: Model) throws(CommandError) -> [Int] {
        let labels = model.description.classLabels ?? []
        var indices: [String: [Int]] = [:]
        for (index, label) in labels.enumerated() { indices[label, default: []].append(index) }
        let unknown = folders.labels.filter { indices[$0] == nil }
        guard unknown.isEmpty else {
            let list = unknown.prefix(5).map {
                PrintableText.text("\"\($0)\"\(Spelling.hint(for: $0, among: labels))")
            }.joined(separator: ", ")
            throw CommandError(
                "\(request.pictures): the model has no \(unknown.count == 1 ? "label" : "labels") \(list)"
                    + (unknown.count > 5 ? ", ..." : "")
                    + ": each folder has the name of one of its \(TeachReport.count(labels.count, "label"))")
        }
        var classes: [Int] = []
        for label in folders.labels {
            guard let found = indices[label], found.count == 1 else {
                throw CommandError(
                    "\(request.pictures): several classes of the model have the label \"\(PrintableText.text(label))\", so that it is not "
                        + "known which of them is right: remove the folder, or give the labels different texts")
            }
            classes += found
        }
        guard !folders.pictures.isEmpty else {
            throw CommandError("the folders in \(request.pictures) have no pictures")
        }
        let most = ClassifierCalibration.maximumPictures
        guard folders.pictures.count <= most else {
            throw CommandError("\(request.pictures) has \(folders.pictures.count) pictures: expected at most \(most)")
        }
        return classes
    }

    /// The answers to the pictures that can be used, and the number of the others, which are reported.
    /// - Throws: if the answers are not confidences of classes of which one is right.
    private func answers(
        _ outcomes: [PicturePool.Outcome], _ folders: ClassFolders, _ classes: [Int], _ model: Model
    ) throws(CommandError) -> (LabelledAnswers, failed: Int) {
        var answers = LabelledAnswers(
            classes: model.description.classLabels?.count ?? 0, floor: model.leastConfidence)
        var failed = 0, sum = 0.0
        for (picture, outcome) in zip(folders.pictures, outcomes) {
            let file = picture.place.name
            guard outcome.failure.isEmpty else {
                complain(PrintableText.text("\(file): \(outcome.failure)"))
                failed += 1
                continue
            }
            guard outcome.areConfidences else {
                throw CommandError(
                    "\(request.bundle) cannot be calibrated: its scores are not confidences from 0 to 1; set \"activation\": \"softmax\" "
                        + "for the output in model.json")
            }
            sum += outcome.embedding.reduce(0) { $0 + Double($1) }
            guard answers.add(outcome.embedding, right: classes[picture.label]) else {
                complain(PrintableText.text("\(file): its answer has not one confidence for each label"))
                failed += 1
                continue
            }
        }
        let mean = sum / Double(max(1, answers.count))
        guard answers.count == 0 || Self.sums.contains(mean) else {
            throw CommandError(
                "\(request.bundle) cannot be calibrated: the confidences of a picture sum to \(Units.decimal(mean, places: 2)) on average, not "
                    + "to 1, so that several labels may be right")
        }
        return (answers, failed)
    }

    /// The sums of confidences that may be rounded ones of a softmax: outputs of 8 bits lose small ones.
    private static let sums = 0.75...1.25
}
