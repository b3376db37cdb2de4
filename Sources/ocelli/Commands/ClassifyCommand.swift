internal import Calibration
internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli classify`: classifies pictures without a server.
enum ClassifyCommand: Command {
    static let name = "classify"
    static let summary = "Classify picture files without a server."

    struct Request {
        var local = LocalClassification.Request()
        var bulk = BulkFlags()
        var search = PreprocessingSearch.Request()
    }

    static let usage = [
        "FILE... [--model MODEL] [--models DIR] [--labels A,B [--prompt TEXT]] [--top N] [--json] [SETTINGS]",
        BulkFlags.usage,
        "--try BUNDLE FILE... [SETTINGS]",
    ]
    static let about = """
        Classifies pictures with the same pipeline that the daemon uses. Exits with 1 if any file failed.

          ocelli classify seven.png
          ocelli classify --models ./models --model mobilenet --top 3 *.jpg
          ocelli classify --model mobilenet.tflite cat.jpg
          ocelli classify --model clip --labels 'a cat,a dog' --prompt 'a photo of {}.' *.jpg
          ocelli classify --jsonl --resume answers.jsonl photos more-photos.tar
          find photos -name '*.jpg' | ocelli classify --jsonl --resume answers.jsonl
        """

    static var flags: [Flag<Request>] {
        [
            .text(
                "--model", "MODEL", \.local.model,
                "The model: a name, or the path of a model file or bundle. Default: as /v1/classify."),
            .text(
                "--labels", "A,B", \.local.labels.list,
                """
                The classes, for a model that embeds pictures and texts, such as CLIP: texts with commas between them. \
                Default: the model's own.
                """),
            .texts(
                "--label", "TEXT", \.local.labels.single,
                "One more class, which may have commas. Can be given several times."),
            .text(
                "--prompt", "TEXT", \.local.labels.prompt,
                "The text around each label, with {} in its place. Default: the model's, else the label alone."),
            .share("--threshold", "X", \.local.threshold, "The minimum confidence of a printed class, 0 to 1."),
            Flag(
                "--coverage", "X",
                """
                Also print the set of labels that holds the right one in this share of pictures, such as 0.9, for a model \
                that `ocelli calibrate` has calibrated.
                """
            ) { request, flag, text in
                guard let coverage = Coverage(text) else {
                    throw UsageError("\(flag): expected \(Coverage.expected), found \"\(text)\"")
                }
                request.local.coverage = coverage
            },
            .crop(\.local.crop),
            .orientation(\.local.orientation),
            .text(
                "--explain", "DIR", \.local.explain,
                """
                Also write to DIR what the model sees of each picture: the tensor as PNG and as NPY (numpy.load), and \
                the list of steps as JSON.
                """),
            .text(
                "--try", "BUNDLE", \.search.model,
                """
                For a bundle, folder or model file that does not specify its preprocessing: print the top classes for \
                each common kind of preprocessing, the most confident first, and the JSON of the best ones for model.json.
                """),
            .json(\.local.isJSON, "Print one JSON object per file and line, in the form of the HTTP answer."),
        ] + BulkFlags.flags(\.bulk)
    }

    static let notes = """
        --top N, a setting, is how many classes to print. "-" reads a picture from standard input. The settings of
        `ocelli help serve` about models and pictures apply.
        """
    static var initial: Request { Request() }

    static func take(word: String, into request: inout Request) throws { request.local.files.append(word) }

    static func run(_ request: Request, settings: SettingsFlags) async throws -> Int32 {
        let local = request.local
        if let mistake = local.labels.mistake { throw UsageError(mistake) }
        guard local.labels.isEmpty || request.search.model.isEmpty else {
            throw UsageError("--labels, --label and --prompt do not go with --try")
        }
        guard local.coverage == nil || local.labels.isEmpty && request.search.model.isEmpty else {
            throw UsageError("--coverage does not go with --labels, --label, --prompt or --try")
        }
        guard request.search.model.isEmpty || !request.bulk.isRequested && !local.isJSON && local.explain == nil else {
            throw UsageError("--try takes pictures only: not --json, --jsonl or --explain")
        }
        guard local.explain == nil || !request.bulk.isRequested else {
            throw UsageError("--explain does not go with --jsonl")
        }
        if let status = try await request.bulk.run(.classify(local), sources: local.files, settings: settings) {
            return status
        }
        guard !local.files.isEmpty else { throw UsageError("no file given; `ocelli help classify` shows how") }
        if !request.search.model.isEmpty {
            var search = request.search
            search.files = local.files
            search.orientation = local.orientation
            let failed = try await PreprocessingSearch.run(
                search, settings: try settings.resolve(), output: Terminal.print, complain: Terminal.complain,
                progress: Terminal.progress)
            return failed == 0 ? 0 : 1
        }
        let failed = try await LocalClassification.run(
            local, settings: try settings.resolve(), output: Terminal.print, complain: Terminal.complain,
            progress: Terminal.progress)
        return failed == 0 ? 0 : 1
    }
}
