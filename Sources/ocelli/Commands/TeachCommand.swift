internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli teach`: classes for models that embed pictures.
enum TeachCommand: Command {
    static let name = "teach"
    static let summary = "Give a model that embeds pictures its classes."
    struct Request {
        var vectors: String?, labels: String?, output: String?
        var scale = 100.0
    }

    static let usage = ["--text-vectors FILE --labels FILE -o FILE [--scale NUMBER]"]
    static let about = """
        Writes classes.safetensors, which makes a model.json output of type "embedding" a classifier: a vector for each
        class, from the embeddings of their names by the text encoder that belongs to the model (CLIP, SigLIP). The classes
        are found by the cosine between a picture's embedding and each vector (docs/model-json.md, "embedding").
        """

    static var flags: [Flag<Request>] {
        [
            .text(
                "--text-vectors", "FILE", \.vectors,
                "A NumPy file of the classes' embeddings: [classes, dimension], or [classes, prompts, dimension] for "
                    + "several prompts of each class, which are normalised, averaged and normalised again."),
            .text("--labels", "FILE", \.labels, "A text file with the label of each class, one a line."),
            .text("-o --output", "FILE", \.output, "Write the vectors here."),
            Flag(
                "--scale", "NUMBER",
                "The factor of cosines before softmax: e to the power of the model's logit_scale. Default: 100, as in "
                    + "OpenAI's CLIP."
            ) { request, flag, text in
                guard let scale = Double(text), scale > 0, scale.isFinite else {
                    throw UsageError("\(flag): expected a number above 0, found \"\(text)\"")
                }
                request.scale = scale
            },
        ]
    }

    static let takesSettings = false
    static var initial: Request { Request() }

    static func run(_ request: Request, settings: SettingsFlags) async throws -> Int32 {
        guard let vectors = request.vectors, let labels = request.labels, let output = request.output else {
            throw UsageError("expected --text-vectors, --labels and -o; `ocelli help teach` shows the usage")
        }
        let made = try ClassVectors(vectors: vectors, labels: labels, scale: request.scale)
        try made.write(to: output)
        Terminal.print("\(output): \(made.classes) classes of \(made.dimension) numbers, scale \(request.scale)")
        return 0
    }
}
