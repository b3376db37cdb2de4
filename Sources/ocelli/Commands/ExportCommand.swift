internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli export`: writes a taught model as a Core ML file.
enum ExportCommand: Command {
    static let name = "export"
    static let runsModels = false
    static let summary = "Write a taught model as a Core ML file."
    static let usage = ["NAME --taught-dir DIR -o FILE [--force]"]
    static let about = """
        Writes the classifier of a taught model as a Core ML file (.mlmodel), which runs in an app, or in Ocelli, behind
        the same embedder: its input is a vector as /embed gives it (docs/teach.md, On a phone).

          ocelli export parts --taught-dir /var/lib/ocelli/taught -o Parts.mlmodel

        A running daemon holds DIR: ask it instead, or stop it first.

          curl -o Parts.mlmodel localhost:8080/v1/taught/parts/export
        """

    static var flags: [Flag<TaughtExport.Request>] {
        [
            .text("-o --output", "FILE", \.output, "The file to write."),
            .toggle("--force", \.overwrites, "Replace FILE."),
        ]
    }

    static var initial: TaughtExport.Request { TaughtExport.Request() }

    static func take(word: String, into request: inout TaughtExport.Request) throws {
        try take(word, into: &request, as: [\.name], maximum: "one NAME at a time")
    }

    static func run(_ request: TaughtExport.Request, settings: SettingsFlags) async throws -> Int32 {
        guard !request.name.isEmpty, !request.output.isEmpty else {
            throw UsageError("expected NAME and -o FILE; `ocelli help export` shows the usage")
        }
        Terminal.print(try TaughtExport.run(request, settings: settings.resolve()))
        return 0
    }
}
