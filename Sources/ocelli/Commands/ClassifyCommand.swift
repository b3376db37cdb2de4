internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli classify`: the pipeline without a server.
enum ClassifyCommand: Command {
    static let name = "classify"
    static let summary = "Classify picture files without a server."

    static var help: String {
        """
        Usage: ocelli classify FILE... [--model NAME] [--models DIR] [--top N] [--json] [SETTINGS]
               ocelli classify --jsonl [LIST] [--resume FILE] [--model NAME] [--models DIR] [SETTINGS]
               ocelli classify --try BUNDLE FILE... [SETTINGS]

        Classifies pictures with the same pipeline that the daemon uses. Exits with 1 if any file failed.

          ocelli classify seven.png
          ocelli classify --models ./models --model mobilenet --top 3 *.jpg

          --model NAME      The model. Default: as /v1/classify.
          --top N           How many classes to print.
          --threshold X     The minimum confidence of a printed class, 0 to 1.
          --crop MODE       How pictures are fitted: center, fit or fill. Default: the bundle's.
          --explain DIR     Also write to DIR what the model sees of each picture: the tensor as PNG and as NPY
                            (numpy.load), and the list of steps as JSON.
          --try BUNDLE      For a bundle, folder or model file that does not specify its preprocessing: print the top
                            classes for each common kind of preprocessing, one line each.
          --json            Print one JSON object per file and line, in the form of the HTTP answer.

          --jsonl           Classify a list of pictures from the file LIST or standard input: each line is a path or
                            {"path": ...}. Prints answers and errors as lines of JSON, in the same order.
          --resume FILE     With --jsonl: append the answers to FILE, and skip the pictures that are already in it.

          find photos -name '*.jpg' | ocelli classify --jsonl --resume answers.jsonl

        "-" reads a picture from standard input. The settings of `ocelli help serve` about models and pictures
        apply.
        """
    }

    static let flags =
        ["--model", "--threshold", "--crop", "--json", "--explain", "--jsonl", "--resume", "--try"]
        + SettingsFlags.names

    static func run(_ arguments: [String]) async throws -> Int32 {
        var reader = ArgumentReader(arguments, command: name, known: flags)
        var settings = SettingsFlags()
        var request = LocalClassification.Request()
        var isBulk = false
        var resume: String?
        var search = PreprocessingSearch.Request()
        while let argument = reader.next() {
            switch argument {
            case .word(let file): request.files.append(file)
            case .flag("--try", let value): search.model = try reader.value(of: "--try", value)
            case .flag("--json", nil): request.isJSON = true
            case .flag("--jsonl", nil): isBulk = true
            case .flag("--resume", let value): resume = try reader.value(of: "--resume", value)
            case .flag("--model", let value): request.model = try reader.value(of: "--model", value)
            case .flag("--explain", let value): request.explain = try reader.value(of: "--explain", value)
            case .flag("--crop", let value):
                request.crop = try reader.value(of: "--crop", value)
                guard ["center", "fit", "fill"].contains(request.crop) else {
                    throw UsageError("--crop: expected center, fit or fill, found \"\(request.crop ?? "")\"")
                }
            case .flag("--threshold", let value):
                let text = try reader.value(of: "--threshold", value)
                guard let number = Float(text), (0...1).contains(number) else {
                    throw UsageError("--threshold: expected a number from 0 to 1, found \"\(text)\"")
                }
                request.threshold = number
            case .flag(let flag, let value):
                guard try settings.take(flag, value: value, from: &reader) else { throw reader.unknown(flag) }
            }
        }
        guard search.model.isEmpty || !isBulk && !request.isJSON && request.explain == nil else {
            throw UsageError("--try takes pictures only: not --json, --jsonl or --explain")
        }
        guard isBulk || resume == nil else { throw UsageError("--resume goes with --jsonl") }
        if isBulk {
            guard request.files.count <= 1, request.explain == nil else {
                throw UsageError("--jsonl takes one list, or reads it from standard input, and no --explain")
            }
            let bulk = BulkClassification(
                request: request, list: request.files.first, resume: resume, settings: try settings.resolve(),
                output: Terminal.print,
                isOutputLost: { Terminal.isOutputLost }, progress: Terminal.progress)
            return try await bulk.run() == 0 ? 0 : 1
        }
        guard !request.files.isEmpty else { throw UsageError("no file given; `ocelli help classify` shows how") }
        if !search.model.isEmpty {
            search.files = request.files
            let failed = try await PreprocessingSearch.run(
                search, settings: try settings.resolve(), output: Terminal.print, complain: Terminal.complain,
                progress: Terminal.progress)
            return failed == 0 ? 0 : 1
        }
        let failed = try await LocalClassification.run(
            request, settings: try settings.resolve(), output: Terminal.print, complain: Terminal.complain,
            progress: Terminal.progress)
        return failed == 0 ? 0 : 1
    }
}
