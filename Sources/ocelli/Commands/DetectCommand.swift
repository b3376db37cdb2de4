internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli detect`: boxes, masks and keypoints without a server.
enum DetectCommand: Command {
    static let name = "detect"
    static let summary = "Detect, segment or find keypoints in picture files without a server."

    static var help: String {
        """
        Usage: ocelli detect FILE... [--model NAME] [--models DIR] [--json] [--draw DIR] [SETTINGS]

        Finds boxes, masks or keypoints in pictures, as declared by the model, with the same pipeline that the daemon uses.
        Coordinates are pixels of the picture as displayed. Exits with 1 if any file failed.

          ocelli detect --models ./models --model faces party.jpg
          ocelli detect --models ./models --draw drawn *.jpg

          --model NAME      The model. Default: the first that gives boxes, masks or keypoints.
          --threshold X     The minimum confidence, 0 to 1. Default: the bundle's.
          --iou X           The overlap from which the less confident of two boxes is dropped, 0 to 1.
          --top N           The maximum number of detections. Default: the bundle's.
          --classes A,B     Only these classes, by label or number.
          --crop MODE       How pictures are fitted: center, fit or fill. Default: the bundle's.
          --draw DIR        Also write each picture to DIR as PNG, with the results drawn on it.
          --json            Print one JSON object per file and line, in the form of the HTTP answer.

        "-" reads a picture from standard input. The settings of `ocelli help serve` about models and pictures
        apply.
        """
    }

    static let flags =
        ["--model", "--threshold", "--iou", "--top", "--classes", "--crop", "--draw", "--json"]
        + SettingsFlags.names.filter { $0 != "--top" }

    static func run(_ arguments: [String]) async throws -> Int32 {
        var reader = ArgumentReader(arguments, command: name, known: flags)
        var settings = SettingsFlags()
        var request = LocalObservation.Request()
        while let argument = reader.next() {
            switch argument {
            case .word(let file): request.files.append(file)
            case .flag("--json", nil): request.isJSON = true
            case .flag("--model", let value): request.model = try reader.value(of: "--model", value)
            case .flag("--draw", let value): request.draw = try reader.value(of: "--draw", value)
            case .flag("--crop", let value): request.crop = try crop(&reader, value)
            case .flag("--threshold", let value): request.threshold = try share("--threshold", &reader, value)
            case .flag("--iou", let value): request.iou = try share("--iou", &reader, value)
            case .flag("--top", let value):
                let text = try reader.value(of: "--top", value)
                guard let number = Int(text), number >= 1 else {
                    throw UsageError("--top: expected a whole number of 1 or more, found \"\(text)\"")
                }
                request.top = number
            case .flag("--classes", let value):
                request.classes = try reader.value(of: "--classes", value)
            case .flag(let flag, let value):
                guard try settings.take(flag, value: value, from: &reader) else { throw reader.unknown(flag) }
            }
        }
        guard !request.files.isEmpty else { throw UsageError("no file given; `ocelli help detect` shows how") }
        let failed = try await LocalObservation.run(
            request, settings: try settings.resolve(), output: Terminal.print, complain: Terminal.complain,
            progress: Terminal.progress)
        return failed == 0 ? 0 : 1
    }

    /// A value from 0 to 1.
    private static func share(_ flag: String, _ reader: inout ArgumentReader, _ value: String?) throws -> Float {
        let text = try reader.value(of: flag, value)
        // Swift reads hexadecimal numbers too.
        guard !text.contains(where: { $0 == "x" || $0 == "X" }), let number = Float(text), (0...1).contains(number)
        else {
            throw UsageError("\(flag): expected a number from 0 to 1, found \"\(text)\"")
        }
        return number
    }

    /// Reads the value of `--crop`: how pictures are fitted.
    static func crop(_ reader: inout ArgumentReader, _ value: String?) throws -> String {
        let crop = try reader.value(of: "--crop", value)
        guard ["center", "fit", "fill"].contains(crop) else {
            throw UsageError("--crop: expected center, fit or fill, found \"\(crop)\"")
        }
        return crop
    }
}

/// `ocelli embed`: embeddings without a server.
enum EmbedCommand: Command {
    static let name = "embed"
    static let summary = "Compute the embeddings of picture files without a server."

    static var help: String {
        """
        Usage: ocelli embed FILE... [--model NAME] [--models DIR] [--npy FILE] [--json] [SETTINGS]

        Computes the embedding of each picture with the same pipeline that the daemon uses. Exits with 1 if any file failed.

          ocelli embed --models ./models --npy vectors.npy *.jpg

          --model NAME      The model. Default: the first that gives embeddings.
          --npy FILE        Write the embeddings of all pictures to FILE (numpy.load): one row per picture, in order.
          --crop MODE       How pictures are fitted: center, fit or fill. Default: the bundle's.
          --json            Print one JSON object per file and line, in the form of the HTTP answer.

        "-" reads a picture from standard input. The settings of `ocelli help serve` about models and pictures
        apply.
        """
    }

    static let flags = ["--model", "--npy", "--crop", "--json"] + SettingsFlags.names

    static func run(_ arguments: [String]) async throws -> Int32 {
        var reader = ArgumentReader(arguments, command: name, known: flags)
        var settings = SettingsFlags()
        var request = LocalObservation.Request()
        request.embeds = true
        while let argument = reader.next() {
            switch argument {
            case .word(let file): request.files.append(file)
            case .flag("--json", nil): request.isJSON = true
            case .flag("--model", let value): request.model = try reader.value(of: "--model", value)
            case .flag("--npy", let value): request.npy = try reader.value(of: "--npy", value)
            case .flag("--crop", let value): request.crop = try DetectCommand.crop(&reader, value)
            case .flag(let flag, let value):
                guard try settings.take(flag, value: value, from: &reader) else { throw reader.unknown(flag) }
            }
        }
        guard !request.files.isEmpty else { throw UsageError("no file given; `ocelli help embed` shows how") }
        let failed = try await LocalObservation.run(
            request, settings: try settings.resolve(), output: Terminal.print, complain: Terminal.complain,
            progress: Terminal.progress)
        return failed == 0 ? 0 : 1
    }
}
