internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli check`: checks whether bundles can be served.
enum CheckCommand: Command {
    static let name = "check"
    static let summary = "Check bundles and report every mistake with its location."
    struct Request {
        var paths: [String] = []
        var comparison = BundleComparison.Request()
        var isJSON = false
    }

    static let usage = ["BUNDLE... [--json] [SETTINGS]", "BUNDLE --against FILE [--at-least SHARE] [SETTINGS]"]
    static let about = """
        Loads each bundle (a folder with model.json) or model file as the daemon would, runs it once, and prints its
        inputs and outputs, or every mistake with its JSON path. For a folder of bundles or numbered versions, checks
        each, and names the entries that the daemon does not serve; --against takes the newest version. Exits with 1 if
        a bundle cannot be served.

          ocelli check models/digits
          ocelli check models
          ocelli check models/vit --against expected.csv --at-least 0.99
        """

    static var flags: [Flag<Request>] {
        [
            .text(
                "--against", "FILE", \.comparison.file,
                """
                Compare answers with JSON lines or CSV: `picture`, `label` (or `index`), and optionally `confidence` and \
                `tensor`, a .npy file with the original's tensor of the picture; in JSON also `probabilities`, an array \
                of all classes or an object by label. CSV without a heading has the columns picture, label, and \
                optionally a confidence or a tensor. A row with a tensor needs no label. Paths are relative to FILE. \
                Reports how many answers agree, the worst one, and where a tensor differs from the original's. Exits with \
                1 if a row could not be compared.
                """),
            .share(
                "--at-least", "SHARE", \.comparison.atLeast,
                "With --against: exit with 1 only if a smaller share agrees, 0 to 1. Failed rows do not agree."),
            .json(\.isJSON, "Print one JSON object per bundle and line."),
        ]
    }

    static var initial: Request { Request() }

    static func take(word: String, into request: inout Request) throws { request.paths.append(word) }

    static func run(_ request: Request, settings: SettingsFlags) async throws -> Int32 {
        guard !request.paths.isEmpty else { throw UsageError("no bundle given; `ocelli help check` shows how") }
        let resolved = try settings.resolve()
        if !request.comparison.file.isEmpty {
            guard request.paths.count == 1 else { throw UsageError("--against compares one bundle at a time") }
            guard !request.isJSON else { throw UsageError("--json does not go with --against") }
            var comparison = request.comparison
            comparison.bundle = request.paths[0]
            let isGood = try await BundleComparison.run(
                comparison, settings: resolved, output: Terminal.print, complain: Terminal.complain,
                progress: Terminal.progress)
            return isGood ? 0 : 1
        }
        guard request.comparison.atLeast == nil else { throw UsageError("--at-least is for --against FILE") }
        var failed = false
        for argument in request.paths {
            let contents = BundleCheck.contents(of: argument)
            for path in contents.bundles {
                let (text, isGood) = await BundleCheck.run(path, settings: resolved, isJSON: request.isJSON)
                if isGood || request.isJSON { Terminal.print(text) } else { Terminal.complain(text) }
                failed = failed || !isGood
            }
            guard !request.isJSON else { continue }
            for entry in contents.ignored { Terminal.print("not served: \(entry)") }
        }
        return failed ? 1 : 0
    }
}
