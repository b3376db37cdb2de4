internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli teach`: teaches classes to models that embed pictures.
enum TeachCommand: Command {
    static let name = "teach"
    static let runsModels = false
    static let readsSignals = true
    static let summary = "Teach a model that embeds pictures your own classes."
    struct Request {
        var folder = FolderTeaching.Request()
        var evaluated: String?
        var vectors: String?, labels: String?
        var scale: Double?
        var words: [String] = []
    }

    static let usage = [
        """
        NAME DIR [--embedder MODEL] [--models DIR] [-o BUNDLE] [--method METHOD]
                            [--html FILE] [--json] [--force] [SETTINGS]
        """,
        """
        NAME DIR --normal [--false-alarms NUMBER] [--embedder MODEL] [--models DIR] [-o BUNDLE]
                            [--json] [--force] [SETTINGS]
        """,
        "NAME --evaluate DIR [--models DIR] [--html FILE] [--json] [SETTINGS]",
        "--text-vectors FILE --labels FILE -o FILE [--scale NUMBER]",
    ]
    static let about = """
        Makes a classifier from a few pictures of each class, without training a network: DIR has a folder for each class,
        and a model that embeds pictures tells how alike they are. Five pictures of a class are enough to begin with. It
        writes a bundle that any Ocelli serves like other models, and says how good it is on pictures that it was not
        shown (docs/teach.md).

          ocelli teach parts photos --embedder dinov2 --models models      # writes models/parts
          ocelli serve --models models
          curl --data-binary @new.jpg localhost:8080/v1/models/parts/classify

        --evaluate asks a model about other pictures whose classes are known. Folders of classes that it does not have
        are strangers: it counts how many it answers as unknown.

        --normal makes a model that finds anomalies, from a folder of normal pictures: its answers have "anomaly", the
        distance to the nearest of these pictures and a verdict, which is wrong for as many normal pictures as
        --false-alarms allows.

        --text-vectors writes classes.safetensors, which makes a model.json output of type "embedding" a classifier without
        any picture: a vector for each class, from the embeddings of their names by the text encoder that belongs to the
        model (CLIP, SigLIP; docs/model-json.md, "embedding").
        """

    static var flags: [Flag<Request>] {
        [
            .text(
                "--embedder", "MODEL", \.folder.embedder,
                "The model that embeds the pictures: a name, or the path of a bundle or model file. Default: the first that does."
            ),
            .text(
                "-o --output", "BUNDLE", \.folder.output,
                "The folder to write. Default: NAME in the folder of --models, or in the current one."),
            .choice(
                "--method", "METHOD", \.folder.chosen, of: FolderTeaching.methods,
                """
                How classes are told apart: nearest_mean, logistic, nearest_neighbors, or auto, which tests them on pictures \
                that are left out. Default: auto.
                """),
            .toggle("--normal", \.folder.isNormal, "DIR is a folder of normal pictures: find anomalies."),
            Flag(
                "--false-alarms", "NUMBER",
                "0.0001 to 0.5: the share of normal pictures that may be called anomalies. Default: 0.01, which takes 99 "
                    + "pictures."
            ) { request, flag, text in
                let allowed = FolderTeaching.allowedFalseAlarms
                guard !text.contains(where: { $0 == "x" || $0 == "X" }), let share = Double(text),
                    allowed.contains(share)
                else {
                    throw UsageError(
                        "\(flag): expected a number from \(allowed.lowerBound) to \(allowed.upperBound), found \"\(text)\""
                    )
                }
                request.folder.falseAlarms = share
            },
            .text(
                "--evaluate", "DIR", \.evaluated, "Ask the model NAME about these pictures, a folder for each class."),
            .text(
                "--html", "FILE", \.folder.html,
                "Write the report as a page with a matrix of the confusions."),
            .json(\.folder.isJSON, "Print the report as one JSON object."),
            .toggle("--force", \.folder.overwrites, "Replace BUNDLE, if it was made by this command."),
            .text(
                "--text-vectors", "FILE", \.vectors,
                "A NumPy file of the classes' embeddings: [classes, dimension], or [classes, prompts, dimension] for "
                    + "several prompts of each class, which are normalised, averaged and normalised again."),
            .text("--labels", "FILE", \.labels, "A text file with the label of each class, one a line."),
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

    static let notes = """
        A picture that fails is listed and left out; the exit status is then 1, though the bundle is written from the
        others. The same pictures give the same bundle. The settings of `ocelli help serve` about models and pictures
        apply.
        """
    static var initial: Request { Request() }

    static func take(word: String, into request: inout Request) throws { request.words.append(word) }

    static func run(_ request: Request, settings: SettingsFlags) async throws -> Int32 {
        if request.vectors != nil || request.labels != nil || request.scale != nil { return try writeVectors(request) }
        var folder = request.folder
        try check(folder)
        guard let name = request.words.first, request.words.count == (request.evaluated == nil ? 2 : 1) else {
            throw UsageError(
                request.evaluated == nil
                    ? "expected NAME and DIR, the folder with a folder for each class, or of normal pictures; "
                        + "`ocelli help teach` shows the usage"
                    : "expected only NAME with --evaluate DIR; `ocelli help teach` shows the usage")
        }
        folder.name = name
        if let evaluated = request.evaluated {
            guard folder.embedder == nil, folder.output == nil, folder.chosen == nil, !folder.overwrites,
                !folder.isNormal
            else {
                throw UsageError(
                    "--evaluate needs an existing model: not with --embedder, -o, --method, --normal or --force")
            }
            folder.pictures = evaluated
            try Interruption.end()
            let (text, failed) = try await FolderEvaluation.run(
                folder, settings: settings.resolve(), complain: Terminal.complain, progress: Terminal.progress)
            Terminal.print(text)
            return failed == 0 ? 0 : 1
        }
        folder.pictures = request.words[1]
        let (text, bundle, failed) = try await FolderTeaching.run(
            folder, settings: settings.resolve(), complain: Terminal.complain, progress: Terminal.progress)
        Terminal.print(text)
        if !folder.isJSON { Terminal.print("wrote \(bundle)") }
        return failed == 0 ? 0 : 1
    }

    private static func check(_ folder: FolderTeaching.Request) throws {
        guard folder.isNormal else {
            guard folder.falseAlarms == nil else { throw UsageError("--false-alarms needs --normal") }
            return
        }
        guard folder.chosen == nil, folder.html == nil else {
            throw UsageError("--normal learns one class: not with --method or --html")
        }
    }

    private static func writeVectors(_ request: Request) throws -> Int32 {
        guard let vectors = request.vectors, let labels = request.labels, let output = request.folder.output,
            request.words.isEmpty, request.evaluated == nil, request.folder.embedder == nil, !request.folder.isNormal
        else {
            throw UsageError("expected --text-vectors, --labels and -o; `ocelli help teach` shows the usage")
        }
        try Interruption.end()
        let scale = request.scale ?? 100
        let made = try ClassVectors(vectors: vectors, labels: labels, scale: scale)
        try made.write(to: output)
        Terminal.print("\(output): \(made.classes) classes of \(made.dimension) numbers, scale \(scale)")
        return 0
    }
}
