internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli detect`: boxes, masks and keypoints without a server.
enum DetectCommand: Command {
    static let name = "detect"
    static let summary = "Detect, segment or find keypoints in picture files without a server."
    static let usage = ["FILE... [--model NAME] [--models DIR] [--json] [--draw DIR] [SETTINGS]"]
    static let about = """
        Finds boxes, masks or keypoints in pictures, as declared by the model, with the same pipeline that the daemon uses.
        Coordinates are pixels of the picture as displayed. Exits with 1 if any file failed.

          ocelli detect --models ./models --model faces party.jpg
          ocelli detect --models ./models --draw drawn *.jpg
        """

    static var flags: [Flag<LocalObservation.Request>] {
        [
            .text("--model", "NAME", \.model, "The model. Default: the first that gives boxes, masks or keypoints."),
            .share("--threshold", "X", \.threshold, "The minimum confidence, 0 to 1. Default: the bundle's."),
            .share("--iou", "X", \.iou, "The overlap from which the less confident of two boxes is dropped, 0 to 1."),
            .number("--top", "N", \.top, in: 1...Int.max, "The maximum number of detections. Default: the bundle's."),
            .text("--classes", "A,B", \.classes, "Only these classes, by label or number."),
            .crop(\.crop),
            .text("--draw", "DIR", \.draw, "Also write each picture to DIR as PNG, with the results drawn on it."),
            .json(\.isJSON, "Print one JSON object per file and line, in the form of the HTTP answer."),
        ]
    }

    static let notes = EmbedCommand.notes
    static var initial: LocalObservation.Request { LocalObservation.Request() }

    static func take(word: String, into request: inout LocalObservation.Request) throws { request.files.append(word) }

    static func run(_ request: LocalObservation.Request, settings: SettingsFlags) async throws -> Int32 {
        guard !request.files.isEmpty else { throw UsageError("no file given; `ocelli help \(name)` shows how") }
        let failed = try await LocalObservation.run(
            request, settings: try settings.resolve(), output: Terminal.print, complain: Terminal.complain,
            progress: Terminal.progress)
        return failed == 0 ? 0 : 1
    }
}

/// `ocelli embed`: embeddings without a server.
enum EmbedCommand: Command {
    static let name = "embed"
    static let summary = "Compute the embeddings of picture files without a server."
    static let usage = ["FILE... [--model NAME] [--models DIR] [--npy FILE] [--json] [SETTINGS]"]
    static let about = """
        Computes the embedding of each picture with the same pipeline that the daemon uses. Exits with 1 if any file failed.

          ocelli embed --models ./models --npy vectors.npy *.jpg
        """

    static var flags: [Flag<LocalObservation.Request>] {
        [
            .text("--model", "NAME", \.model, "The model. Default: the first that gives embeddings."),
            .text(
                "--npy", "FILE", \.npy,
                "Write the embeddings of all pictures to FILE (numpy.load): one row per picture, in order."),
            .crop(\.crop),
            .json(\.isJSON, "Print one JSON object per file and line, in the form of the HTTP answer."),
        ]
    }

    static let notes = """
        "-" reads a picture from standard input. The settings of `ocelli help serve` about models and pictures
        apply.
        """
    static var initial: LocalObservation.Request {
        var request = LocalObservation.Request()
        request.embeds = true
        return request
    }

    static func take(word: String, into request: inout LocalObservation.Request) throws { request.files.append(word) }

    static func run(_ request: LocalObservation.Request, settings: SettingsFlags) async throws -> Int32 {
        guard !request.files.isEmpty else { throw UsageError("no file given; `ocelli help \(name)` shows how") }
        let failed = try await LocalObservation.run(
            request, settings: try settings.resolve(), output: Terminal.print, complain: Terminal.complain,
            progress: Terminal.progress)
        return failed == 0 ? 0 : 1
    }
}
