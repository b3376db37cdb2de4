internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli compare`: checks whether a new version answers like the old one.
enum CompareCommand: Command {
    static let name = "compare"
    static let summary = "Compare the answers of two versions of a model."
    static let usage = [
        "OLD NEW SOURCE... [--at-least SHARE] [--latency TIMES] [--task TASK] [--json] [--html FILE] [SETTINGS]"
    ]
    static let about = """
        Asks two bundles, model files or folders of versions the same pictures, and reports how many answers agree, by the rule of goldens
        and rollouts (docs/rollout.md), which classes differ, and the pictures that differ most. A source is a picture,
        a folder, a .tar, or a file with a path a line. Exits with 1 if too few agree, or a picture could not be read.

          ocelli compare models/pets/2 models/pets/3 photos
          ocelli compare models/pets/2 models/pets/3 photos --html differences.html --latency 1.2
        """

    static var flags: [Flag<VersionComparison.Request>] {
        [
            .share(
                "--at-least", "SHARE", \.atLeast,
                "Exit with 1 if a smaller share agrees, 0 to 1. Default: 0.98."),
            .positive(
                "--latency", "TIMES", \.latency,
                "Exit with 1 if an inference of NEW takes longer than this many times one of OLD."),
            .choice(
                "--task", "TASK", \.task, of: ["classify", "detect", "segment", "keypoints", "embed", "read"],
                "The task to compare: classify, detect, segment, keypoints, embed or read. Default: the first that both support."
            ),
            .orientation(\.orientation),
            .json(\.isJSON, "Print the report as one JSON object."),
            .text("--html", "FILE", \.html, "Write a page with the pictures that differ most."),
        ]
    }

    static var initial: VersionComparison.Request { VersionComparison.Request() }

    static func take(word: String, into request: inout VersionComparison.Request) throws {
        if request.old.isEmpty {
            request.old = word
        } else if request.new.isEmpty {
            request.new = word
        } else {
            request.sources.append(word)
        }
    }

    static func run(_ request: VersionComparison.Request, settings: SettingsFlags) async throws -> Int32 {
        guard !request.sources.isEmpty else {
            throw UsageError("expected two models and pictures; `ocelli help compare` shows how")
        }
        let isGood = try await VersionComparison.run(
            request, settings: settings.resolve(), output: Terminal.print, complain: Terminal.complain,
            progress: Terminal.progress)
        return isGood ? 0 : 1
    }
}
