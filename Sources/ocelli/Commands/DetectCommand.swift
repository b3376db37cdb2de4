internal import InferenceService
internal import Settings
internal import Tools

/// The request of the commands for observations.
struct ObservationArguments {
    var local = LocalObservation.Request()
    var bulk = BulkFlags()
}

/// A command for observations in pictures; its tasks distinguish it from the others.
protocol ObservationCommand: Command where Request == ObservationArguments {
    /// The possible tasks, by the names of routes; the first one that the model supports is used.
    static var tasks: [String] { get }
    /// The additional options in the usage line.
    static var options: String { get }
    /// The model that is used without `--model`, for the help.
    static var model: String { get }
    /// True if a request may say how pictures are fitted into the model's input.
    static var fitsPictures: Bool { get }
    /// More usage lines.
    static var otherUsage: [String] { get }
    /// The additional flags.
    static var taskFlags: [Flag<ObservationArguments>] { get }
}

extension ObservationCommand {
    static var fitsPictures: Bool { true }
    static var otherUsage: [String] { [] }

    static var usage: [String] {
        ["FILE... [--model MODEL] [--models DIR] \(options) [--json] [SETTINGS]", BulkFlags.usage] + otherUsage
    }

    static var flags: [Flag<ObservationArguments>] {
        var flags: [Flag<ObservationArguments>] = [
            .text(
                "--model", "MODEL", \.local.model,
                "The model: a name, or the path of a model file or bundle. Default: the first that gives \(model).")
        ]
        flags += taskFlags
        if fitsPictures { flags.append(.crop(\.local.crop)) }
        flags.append(.orientation(\.local.orientation))
        flags.append(
            .json(\.local.isJSON, "Print one JSON object per file and line, in the form of the HTTP answer."))
        return flags + BulkFlags.flags(\.bulk)
    }

    static var notes: String {
        """
        "-" reads a picture from standard input. The settings of `ocelli help serve` about models and pictures
        apply.
        """
    }

    static var initial: ObservationArguments {
        var request = ObservationArguments()
        request.local.tasks = tasks
        return request
    }

    static func take(word: String, into request: inout ObservationArguments) throws {
        request.local.files.append(word)
    }

    static func run(_ request: ObservationArguments, settings: SettingsFlags) async throws -> Int32 {
        let local = request.local
        if !local.texts.isEmpty || local.lines != nil {
            guard local.files.isEmpty, !request.bulk.isRequested, local.crop == nil else {
                throw UsageError("--text and --texts take no pictures, and do not go with --jsonl or --crop")
            }
            let failed = try await LocalTexts.run(
                local, settings: try settings.resolve(), output: Terminal.print, complain: Terminal.complain,
                progress: Terminal.progress)
            return failed == 0 ? 0 : 1
        }
        guard [local.draw, local.crops, local.blur, local.fill].allSatisfy({ $0 == nil }) || !request.bulk.isRequested
        else {
            throw UsageError("--draw, --blur, --fill and --crops do not go with --jsonl")
        }
        if let status = try await request.bulk.run(
            .observe(local), sources: local.files, npy: local.npy, settings: settings)
        {
            return status
        }
        guard !local.files.isEmpty else { throw UsageError("no file given; `ocelli help \(name)` shows how") }
        let failed = try await LocalObservation.run(
            local, settings: try settings.resolve(), output: Terminal.print, complain: Terminal.complain,
            progress: Terminal.progress)
        return failed == 0 ? 0 : 1
    }
}

extension Flag where Request == ObservationArguments {
    fileprivate static var threshold: Flag {
        .share("--threshold", "X", \.local.threshold, "The minimum confidence, 0 to 1. Default: the bundle's.")
    }

    fileprivate static var draw: Flag {
        .text("--draw", "DIR", \.local.draw, "Also write each picture to DIR as PNG, with the results drawn on it.")
    }

    fileprivate static var classes: Flag {
        .text("--classes", "A,B", \.local.classes, "Only these classes, by label or number.")
    }

    fileprivate static func top(_ what: String) -> Flag {
        .number("--top", "N", \.local.top, in: 1...Int.max, "The maximum number of \(what). Default: the bundle's.")
    }
}

/// `ocelli detect`: detects boxes, masks and keypoints without a server.
enum DetectCommand: ObservationCommand {
    static let name = "detect"
    static let summary = "Detect, segment or find keypoints in picture files without a server."
    static let tasks = ["detect", "segment", "keypoints"]
    static let options = "[--draw DIR [--blur LABELS]] [--crops DIR]"
    static let model = "boxes, masks or keypoints"
    static let about = """
        Finds boxes, masks or keypoints in pictures, as declared by the model, with the same pipeline that the daemon uses.
        Coordinates are pixels of the picture as displayed. Exits with 1 if any file failed.

          ocelli detect --models ./models --model faces party.jpg
          ocelli detect --models ./models --draw drawn *.jpg
          ocelli detect --models ./models --model faces --blur face --draw blurred photos/*.jpg
          ocelli detect --models ./models --jsonl --resume found.jsonl photos
        """

    static var taskFlags: [Flag<ObservationArguments>] {
        [
            .threshold,
            .share(
                "--iou", "X", \.local.iou,
                "The overlap from which the less confident of two boxes is dropped, 0 to 1."),
            .top("detections"), .classes, .draw,
            .text(
                "--blur", "LABELS", \.local.blur,
                """
                With --draw: blur the finds with these labels or numbers, with commas between them ("all": every find), and \
                draw nothing. JPEG pictures are written as JPEG. If a picture cannot be searched as a whole, none is written.
                """),
            .text("--fill", "LABELS", \.local.fill, "Like --blur, with black instead of a blur."),
            .text(
                "--crops", "DIR", \.local.crops,
                "Also write each find to DIR as PNG, cut out of the picture: NAME-NUMBER-LABEL.png."),
        ]
    }
}

/// `ocelli segment`: finds the class of each pixel without a server.
enum SegmentCommand: ObservationCommand {
    static let name = "segment"
    static let summary = "Find the class of each pixel of picture files without a server."
    static let tasks = ["segment"]
    static let options = "[--draw DIR]"
    static let model = "a mask"
    static let about = """
        Finds the class of each pixel, with the same pipeline that the daemon uses. Exits with 1 if any file failed.

          ocelli segment --models ./models street.jpg
        """

    static var taskFlags: [Flag<ObservationArguments>] { [.top("classes"), .classes, .draw] }
}

/// `ocelli keypoints`: finds keypoints without a server.
enum KeypointsCommand: ObservationCommand {
    static let name = "keypoints"
    static let summary = "Find the keypoints in picture files without a server."
    static let tasks = ["keypoints"]
    static let options = "[--draw DIR]"
    static let model = "keypoints"
    static let about = """
        Finds the points of one object, such as the joints of a person, with the same pipeline that the daemon uses. Coordinates are
        pixels of the picture as displayed. Exits with 1 if any file failed.

          ocelli keypoints --models ./models squat.jpg
        """

    static var taskFlags: [Flag<ObservationArguments>] { [.threshold, .draw] }
}

/// `ocelli embed`: computes embeddings without a server.
enum EmbedCommand: ObservationCommand {
    static let name = "embed"
    static let summary = "Compute the embeddings of picture files, or of texts, without a server."
    static let tasks = ["embed"]
    static let options = "[--npy FILE]"
    static let otherUsage = [
        "--text TEXT... [--texts FILE] [--model MODEL] [--models DIR] [--npy FILE] [--json] [SETTINGS]"
    ]
    static let model = "embeddings"
    static let about = """
        Computes the embedding of each picture or text with the same pipeline that the daemon uses. Exits with 1 if any failed.

          ocelli embed --models ./models --npy vectors.npy *.jpg
          ocelli embed --models ./models --jsonl --resume vectors.jsonl --npy vectors.npy photos
          ocelli embed --model clip --text 'a cat' --text 'a dog'
          ocelli embed --model clip --texts captions.txt --npy captions.npy
        """

    static var taskFlags: [Flag<ObservationArguments>] {
        [
            .text(
                "--npy", "FILE", \.local.npy,
                """
                Write the embeddings to FILE (numpy.load): one row per picture or text, in order. With --jsonl and \
                --resume: one row per line of that file, of NaN for an error.
                """),
            .texts(
                "--text", "TEXT", \.local.texts,
                "A text to embed in place of pictures, by a model that embeds texts. Can be given several times."),
            .text(
                "--texts", "FILE", \.local.lines,
                "Texts to embed, one on each line of a file; \"-\": of standard input."),
        ]
    }
}

/// `ocelli read`: reads the text of pictures without a server.
enum ReadCommand: ObservationCommand {
    static let name = "read"
    static let summary = "Read the text of picture files without a server."
    static let tasks = ["read"]
    static let options = "[--threshold X] [--find-threshold X] [--characters] [--draw DIR]"
    static let model = "text"
    static let fitsPictures = false
    static let about = """
        Prints the text of a picture in reading order, with the same pipeline that the daemon uses. With --json it prints
        the lines, too, with places in pixels of the picture as displayed. Exits with 1 if any file failed.

          ocelli read --models ./models page.jpg >page.txt
          ocelli read --model ./models/ocr --draw drawn receipts/*.jpg
          ocelli read --models ./models --jsonl --resume receipts.jsonl receipts
        """

    static var taskFlags: [Flag<ObservationArguments>] {
        [
            .share("--threshold", "X", \.local.threshold, "The minimum confidence of a line, 0 to 1. Default: 0.5."),
            .share(
                "--find-threshold", "X", \.local.findThreshold,
                "The minimum score of a region of text, 0 to 1. Default: the reader's."),
            .number(
                "--top", "N", \.local.top, in: 1...Int.max,
                "The maximum number of lines, the most confident. Default: all."),
            .toggle("--characters", \.local.characters, "With --json or --jsonl: list the characters of each line."),
            .draw,
        ]
    }
}
