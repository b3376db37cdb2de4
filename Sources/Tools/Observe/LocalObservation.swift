internal import FoundationEssentials
internal import ImagePipeline
internal import Inference
internal import JSON
internal import Observations
internal import ServicePlanning
package import Settings
internal import SystemSupport
internal import WireFormats

/// Runs detection, embedding, reading and similar tasks on files in this process: `ocelli detect`, `ocelli embed`.
package enum LocalObservation {
    /// The files and options of one run.
    package struct Request: Sendable {
        package var files: [String] = []
        /// Texts to embed in place of pictures, and a file with more of them, one on each line.
        package var texts: [String] = [], lines: String?
        package var model: String?
        package var threshold: Float?
        /// The minimum score of a region of text.
        package var findThreshold: Float?
        package var iou: Float?
        package var top: Int?
        /// Labels or class indices, separated by commas.
        package var classes: String?
        package var crop: String?
        /// The orientation of the stored pictures.
        package var orientation = ImageOrientation.apply
        package var isJSON = false
        /// True if lines of text list their characters.
        package var characters = false
        /// A folder for pictures with the results drawn on them.
        package var draw: String?
        /// The labels or class indices of objects that are blurred, or filled, in the pictures of `draw`, separated by
        /// commas.
        package var blur: String?, fill: String?
        /// A folder for the objects, each cut out.
        package var crops: String?
        /// A file for the embeddings of all pictures.
        package var npy: String?
        /// The requested tasks, by the names of routes; the first one that the model supports is used.
        package var tasks = ["detect", "segment", "keypoints"]

        package init() {}
    }

    /// Processes the files in order and writes a line or a paragraph for each.
    /// - Returns: the number of files that failed.
    package static func run(
        _ request: Request, settings: Settings, output: (String) -> Void, complain: (String) -> Void,
        progress: (String) -> Void
    ) async throws -> Int {
        let observer = try await observer(request, settings: settings, note: complain, progress: progress)
        let (name, model, wanted, options) = (observer.name, observer.model, observer.request, observer.options)
        let writer = observer.writer
        var pictures = try PictureOutput(request, model: model)
        let asked = pictures.request(wanted)
        var failed = 0
        var vectors: [Float] = [], dimension = 0
        for (index, file) in request.files.enumerated() {
            if request.files.count > 1 { progress("\(index + 1) of \(request.files.count): \(file)") }
            do {
                let bytes = try InputFile.read(file, maximum: settings.maxBody)
                let start = MonotonicInstant.now
                let result = try await model.observations(of: EncodedImage(bytes), request: asked, options: options)
                let total = MonotonicInstant.now.nanoseconds(since: start)
                try pictures.write(result, of: bytes, file: file)
                if case .embedding(let values) = result.content {
                    vectors += values
                    dimension = values.count
                }
                progress("")
                if request.isJSON {
                    output(
                        try json(
                            result, head: AnswerHead(file: file), model: name, version: model.description.version,
                            total: total, writer))
                } else if request.files.count == 1, case .text(let page) = result.content {
                    // Without a heading, so that the text can be written to a file.
                    output(ObservationText.rows(of: page).joined(separator: "\n"))
                    if page.skipped > 0 { complain(ObservationText.skipped(page)) }
                } else {
                    output(
                        try ObservationText.lines(
                            of: result, file: file, by: "\(name) version \(model.description.version)", writer))
                }
            } catch {
                progress("")
                failed += 1

                if request.isJSON {
                    output(LocalClassification.failure(error, head: AnswerHead(file: file)))
                } else {
                    complain("\(PrintableText.text(file)): \(LocalClassification.message(of: error))")
                }
            }
        }
        if let path = request.npy {
            // A missing row would shift the others.
            guard failed == 0 else { throw CommandError("\(path) is not written: \(failed) of the files failed") }
            let array = try vectors.withUnsafeBytes {
                try NPYEncoder.encode($0, shape: [request.files.count, dimension], element: .float32)
            }
            try OutputFile.write(array, to: path)
        }
        return failed
    }

    /// A model with the options for its requests.
    struct Observer: Sendable {
        let name: String
        let model: Model
        var request: ObservationRequest
        let options: PredictionOptions
        /// True if answers have the characters of lines of text.
        var characters = false

        var writer: ObservationWriter {
            ObservationWriter(classes: request.classes, maximum: request.top, characters: characters)
        }

        /// The answer for a picture as a line of JSON.
        func line(of bytes: [UInt8], head: AnswerHead) async throws -> String {
            let start = MonotonicInstant.now
            let result = try await model.observations(of: EncodedImage(bytes), request: request, options: options)
            let total = MonotonicInstant.now.nanoseconds(since: start)
            return try json(
                result, head: head, model: name, version: model.description.version, total: total, writer)
        }
    }

    /// Loads the requested model.
    static func observer(
        _ request: Request, settings: Settings, note: (String) -> Void, progress: (String) -> Void
    ) async throws -> Observer {
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        progress("loading the model...")
        let tasks = request.tasks.compactMap { ObservationTask(rawValue: $0) }
        func task(of model: Model) -> ObservationTask? { tasks.first { model.tasks.contains($0) } }
        let what =
            switch tasks {
            case [.embed]: "model that gives embeddings"
            case [.read]: "model that reads text"
            default: "model that finds \(tasks.count > 1 ? "boxes, masks or keypoints" : tasks.map(\.gives).joined())"
            }
        let (name, model) = try await LocalModel.load(
            request.model ?? settings.defaultModel, plan: plan, what: what, note: note
        ) { task(of: $0) != nil }
        progress("")
        guard let task = task(of: model) else {
            if tasks == [.read] {
                throw CommandError(
                    "model \"\(name)\" does not read text\(OtherTask.advice(model, requested: request.model))")
            }
            let wanted = tasks.map { "\"\($0.outputType)\"" }.joined(separator: ", ")
            throw CommandError(
                "model \"\(name)\" has no output of type \(wanted)\(OtherTask.advice(model, requested: request.model))")
        }
        var wanted = ObservationRequest(task: task)
        wanted.threshold = request.threshold
        wanted.findThreshold = request.findThreshold
        guard request.findThreshold == nil || model.reader != nil else {
            throw CommandError(
                "--find-threshold: model \"\(name)\" is a recognizer without a detector, which reads the whole picture as one line; "
                    + "leave it out, or give a reader with --model")
        }
        wanted.iou = request.iou
        wanted.top = request.top
        wanted.classes = request.classes.map { ObservationRequest.classes(in: $0) }
        guard wanted.classes?.isEmpty != true else {
            throw CommandError("--classes: expected labels or numbers, separated by commas")
        }
        if let refusal = model.refusal(of: wanted) { throw CommandError(refusal.message) }
        var options = PredictionOptions()
        options.cropAndScale = request.crop.flatMap { CropAndScale(rawValue: $0) }
        options.orientation = request.orientation
        options.maxLines = settings.maxLines
        options.maxCrops = settings.maxCrops
        return Observer(
            name: name, model: model, request: wanted, options: options, characters: request.characters)
    }

    private static func json(
        _ result: ObservationResult, head: AnswerHead, model: String, version: String, total: UInt64,
        _ members: ObservationWriter
    ) throws -> String {
        var writer = JSONWriter()
        try writer.object { writer in
            head.write(to: &writer)
            writer.member("model", model)
            writer.member("version", version)
            try members.write(result, total: total, to: &writer)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
