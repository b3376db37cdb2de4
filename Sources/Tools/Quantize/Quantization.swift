internal import FileFormats
internal import FoundationEssentials
internal import Glibc
internal import Inference
internal import JSON
internal import ServicePlanning
package import Settings
internal import SystemSupport

/// Makes a bundle whose model computes with integers from one that computes with floats: `ocelli quantize`.
///
/// The bundle's own preprocessing prepares the pictures, NNCF quantizes in a Python process, and Ocelli itself compares
/// the result with the original, on pictures that were not used before.
package struct Quantization: Sendable {
    /// The model, the pictures and the options of one run.
    package struct Request: Sendable {
        /// A bundle's folder, a model file, or a downloaded folder.
        package var model = ""
        package var pictures = ""
        /// The folder of the new bundle.
        package var output = ""
        /// The minimum share of answers that must stay the same, 0 to 1; nil accepts any.
        package var atLeast: Double?
        /// The maximum number of pictures that are used.
        package var maximum = 400
        /// The program to use for Python.
        package var python: String?
        package var isJSON = false
        package var overwrites = false

        package init() {}
    }

    /// The maximum number of layers that the search for the most sensitive ones may change back to float.
    private static let maximumLayers = 1_000
    /// The number of inferences of each model that are timed, and the time in nanoseconds after which fewer suffice.
    private static let timedRuns = 60, timedNanoseconds: UInt64 = 10_000_000_000

    private let request: Request
    private let settings: Settings
    private let progress: @Sendable (String) -> Void
    private let complain: @Sendable (String) -> Void
    private let output: BundleOutput

    /// Runs all steps.
    /// - Returns: the report's text, and whether the bundle was written; it is not if too few answers stay the same.
    package static func run(
        _ request: Request, settings: Settings, complain: @escaping @Sendable (String) -> Void,
        progress: @escaping @Sendable (String) -> Void
    ) async throws -> (text: String, isWritten: Bool) {
        var request = request
        request.model = ModelAtPath.resolved(request.model, note: complain)
        let output = try BundleOutput(request.output, overwrites: request.overwrites, verb: "quantizing")
        let maker = Quantization(
            request: request, settings: settings, progress: progress, complain: complain, output: output)
        let process = QuantizerProcess()
        return try await output.run(stopping: { process.stop() }, cleared: { progress("") }) {
            try await maker.make(process)
        }
    }

    private func make(_ process: QuantizerProcess) async throws -> (text: String, isWritten: Bool) {
        // Report problems of the model before the pictures are searched.
        _ = try Result { () throws(InferenceError) in try ModelBundle(path: request.model) }.mapError {
            CommandError($0.message)
        }.get()
        let (work, python) = (output.work, try QuantizerProcess.python(named: request.python))
        let pictures = try CalibrationPictures(folder: request.pictures)
        try OutputFile.makeFolder(work + "/tensors")
        let source = try QuantizationSource(request.model, work: work)
        progress("loading the model...")
        let original = try await load(source.bundle)
        guard original.description.imageInput != nil else {
            throw CommandError("\(request.model) does not take one picture: only such models can be quantized")
        }
        var parts = pictures.parts(maximum: request.maximum, validates: request.atLeast != nil)
        let count = parts.calibration.count + parts.validation.count
        let calibration = try tensors(&parts.calibration, model: original, done: 0, of: count)
        let validation = try tensors(&parts.validation, model: original, done: calibration.count, of: count)
        guard calibration.count >= 2, parts.validation.isEmpty == (request.atLeast == nil) else {
            throw CommandError("too few of the pictures in \(request.pictures) can be decoded")
        }
        if calibration.count < 100 {
            complain(
                "note: \(calibration.count) pictures to calibrate are few; with a few hundred the result is better and the comparison "
                    + "says more")
        }
        let bundle = work + "/bundle"
        try OutputFile.makeFolder(bundle)
        let job = QuantizerProcess.Job(
            model: source.file, calibration: calibration, validation: validation,
            output: original.description.classificationOutput?.name, at_least: request.atLeast,
            most_layers: Self.maximumLayers, result: bundle + "/model.xml", log: work + "/log")
        let show = progress
        let outcome = try await LoaderThread.run { () -> Result<QuantizerProcess.Outcome, CommandError> in
            Result { () throws(CommandError) in
                try process.run(job, python: python, folder: work) { show("\($0)...") }
            }
        }.get()
        try source.write(to: bundle, model: "model.xml")
        var report = QuantizationReport(outcome)
        report.name = original.description.name
        report.labels = original.description.classificationOutput?.labels
        (report.calibration, report.validation) = (calibration.count, validation.count)
        (report.sizeBefore, report.sizeAfter) = (Self.size(source.file), Self.size(bundle + "/model.xml"))
        let quantized = try await load(bundle)
        report.pairs = try await compare(original, with: quantized, on: parts.comparison)
        guard !report.pairs.isEmpty else {
            throw CommandError("none of the pictures for the comparison in \(request.pictures) can be decoded")
        }
        report.times = try await times(original, quantized, after: report.pairs)
        let text = request.isJSON ? report.json : report.text
        if let minimum = request.atLeast, report.agreement < minimum {
            complain(
                "not written: \(Units.decimal(report.agreement, places: 3)) of the answers stay the same on pictures that were not used "
                    + "before, less than --at-least \(Units.decimal(minimum, places: 3)). More pictures may help.")
            return (text, false)
        }
        try output.place(bundle)
        return (text, true)
    }

    private func load(_ path: String) async throws -> Model {
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        var configuration = plan.modelConfiguration
        configuration.compile.cacheDirectory = nil
        return try await ModelAtPath.loadUncalibrated(path, configuration)
    }

    /// Writes the tensor of each picture as .npy. Pictures that cannot be decoded are skipped, with a line each.
    private func tensors(
        _ pictures: inout [CalibrationPictures.Picture], model: Model, done: Int, of count: Int
    ) throws -> [String] {
        var files: [String] = []
        var kept: [CalibrationPictures.Picture] = []
        for picture in pictures {
            progress("preparing pictures: \(done + kept.count + 1) of \(count)")
            do {
                let bytes = try InputFile.read(picture.path, maximum: settings.maxBody)
                let file = output.work + "/tensors/\(done + files.count).npy"
                try OutputFile.write(model.preprocess(EncodedImage(bytes)).npy(), to: file)
                files.append(file)
                kept.append(picture)
            } catch {
                complain(
                    "\(PrintableText.text(picture.path)): \((error as? InferenceError)?.message ?? "\(error)"); left out"
                )
            }
        }
        pictures = kept
        return files
    }

    /// Runs both models on each picture, in turns.
    private func compare(
        _ original: Model, with quantized: Model, on pictures: [CalibrationPictures.Picture]
    ) async throws -> [QuantizationReport.Pair] {
        var pairs: [QuantizationReport.Pair] = []
        for (index, picture) in pictures.enumerated() {
            progress("comparing: \(index + 1) of \(pictures.count)")
            do {
                let image = EncodedImage(try InputFile.read(picture.path, maximum: settings.maxBody))
                let (before, after) = try await Self.answers(original, quantized, image, turn: index)
                pairs.append(.init(picture: picture, before: before, after: after))
            } catch let error as CommandError {
                complain("\(PrintableText.text(picture.path)): \(error); left out")
            } catch let error as InferenceError {
                guard case .image = error else { throw CommandError(error.message) }
                complain("\(PrintableText.text(picture.path)): \(error.message); left out")
            }
        }
        return pairs
    }

    /// The times of both models in the engine: those of the comparison, and of further runs on its pictures if they are
    /// few.
    private func times(
        _ original: Model, _ quantized: Model, after pairs: [QuantizationReport.Pair]
    ) async throws -> [QuantizationReport.Times] {
        var times = pairs.map { QuantizationReport.Times(before: $0.before.time, after: $0.after.time) }
        let start = MonotonicInstant.now
        while times.count < Self.timedRuns, MonotonicInstant.now.nanoseconds(since: start) < Self.timedNanoseconds {
            progress("timing both models: \(times.count + 1) of \(Self.timedRuns)")
            let path = pairs[times.count % pairs.count].picture.path
            let image = EncodedImage(try InputFile.read(path, maximum: settings.maxBody))
            let (before, after) = try await Self.answers(original, quantized, image, turn: times.count)
            times.append(QuantizationReport.Times(before: before.time, after: after.time))
        }
        return times
    }

    /// Both answers to a picture. The models alternate in going first, so that a disturbance of the machine affects
    /// both.
    private static func answers(
        _ original: Model, _ quantized: Model, _ image: EncodedImage, turn: Int
    ) async throws -> (before: QuantizationReport.Answer, after: QuantizationReport.Answer) {
        if turn % 2 == 0 {
            let before = try await answer(original, image)
            return (before, try await answer(quantized, image))
        }
        let after = try await answer(quantized, image)
        return (try await answer(original, image), after)
    }

    private static func answer(_ model: Model, _ image: EncodedImage) async throws -> QuantizationReport.Answer {
        var answer = QuantizationReport.Answer()
        if let labels = model.description.classificationOutput?.labels {
            let result = try await model.classification(of: image, top: labels.count)
            answer.label = result.classifications.first?.label
            answer.values = [Double](repeating: 0, count: labels.count)
            for entry in result.classifications where answer.values.indices.contains(entry.index) {
                answer.values[entry.index] = Double(entry.confidence)
            }
            answer.time = result.times.inference
            return answer
        }
        guard let input = model.description.imageInput else { return answer }
        var options = PredictionOptions()
        options.usesTensors = true
        let result = try await model.prediction(
            from: DictionaryFeatureProvider([(input.name, .image(image))]), options: options, slot: nil)
        for name in result.featureNames {
            if case .multiArray(let array)? = result.featureValue(for: name) { answer.values += array.doubles }
        }
        answer.time = result.times.inference
        return answer
    }

    /// The size of a model file with its weights, or of a folder, in bytes.
    private static func size(_ path: String) -> Int {
        func bytes(_ path: String) -> Int {
            var status = stat()
            guard stat(path, &status) == 0 else { return 0 }
            guard status.st_mode & S_IFMT == S_IFDIR else { return Int(status.st_size) }
            let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
            return names.reduce(0) { $0 + bytes(path + "/" + $1) }
        }
        guard let format = ModelFormat(file: path), let dot = path.lastIndex(of: ".") else { return bytes(path) }
        return bytes(path) + format.weightEndings.reduce(0) { $0 + bytes(path[..<dot] + $1) }
    }
}
