package import Calibration
package import EngineAPI
internal import SystemSupport

/// The file `calibration.json` of a bundle, which `ocelli calibrate` writes.
package enum CalibrationFile {
    package static let name = ClassifierCalibration.fileName

    /// The path of the file in the bundle's folder; nil for a bundle without a folder of its own: a bare model file, or
    /// a folder that is one. Blocks.
    package static func path(in bundle: ModelBundle) -> String? {
        guard (try? FolderReader.disk.kind(bundle.path)) == .folder, !ModelBundle.isModelFolder(bundle.path) else {
            return nil
        }
        return FilePath.start(inside: bundle.path) + name
    }

    /// Reads the calibration of a bundle; nil without the file, and with a problem, which is noted. Blocks: reads the
    /// model's files for their digest.
    package static func read(
        _ bundle: ModelBundle, _ plan: ModelPlan, problems: ProblemList
    ) -> ClassifierCalibration? {
        guard let path = path(in: bundle) else { return nil }
        func note(_ reason: String) { problems.add(name, "\(reason) (\(advice(bundle)))") }
        let text: [UInt8]
        switch BundleFile.read(path, maximum: ClassifierCalibration.largestFile) {
        case .success(let data): text = [UInt8](data)
        case .failure(let problem):
            if problem.reason != missing { note(problem.reason) }
            return nil
        }
        do throws(ClassifierCalibration.Mistakes) {
            let calibration = try ClassifierCalibration(text: text)
            if let obstacle = plan.obstacleToCalibration {
                note("belongs to a classifier, and this model \(obstacle)")
                return nil
            }
            guard let digest = ModelDigest.text(of: bundle.source) else {
                note("cannot be compared with the model file, which cannot be read")
                return nil
            }
            guard calibration.model == digest else {
                note("is of another model file: expected \"model\": \"\(digest)\", found \"\(calibration.model)\"")
                return nil
            }
            return calibration
        } catch {
            for mistake in error.list { note(mistake) }
            return nil
        }
    }

    /// The problem of a bundle that is no single model but has the file; nil without the file. Blocks.
    package static func misplaced(in folder: String) -> BundleProblem? {
        let path = FilePath.start(inside: folder) + name
        guard (try? FolderReader.disk.kind(path)) == .file else { return nil }
        return BundleProblem(
            path: name,
            reason: "belongs to a classifier, and this bundle runs several networks: remove the file")
    }

    private static let missing = "is missing"

    private static func advice(_ bundle: ModelBundle) -> String {
        "run `ocelli calibrate \(ShellWord.quoted(bundle.path)) FOLDER` again, or remove the file"
    }
}

extension ModelPlan {
    /// The reason why the classes of a model cannot be calibrated, as text that follows a subject; nil if they can.
    package var obstacleToCalibration: String? {
        let needed = inputs.map(\.description).filter { !$0.isOptional }
        guard needed.count == 1, needed.first?.image != nil else { return "does not take one picture" }
        guard let output = outputs.first(where: { $0.description.labels != nil }) else {
            return "has no output with labels: classes that are compared with an embedding cannot be calibrated"
        }
        guard output.activation != .sigmoid else {
            return
                "has the activation sigmoid, with which several labels may be right: a set holds the one label that is right"
        }
        return nil
    }
}
