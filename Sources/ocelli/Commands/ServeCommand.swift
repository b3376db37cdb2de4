internal import InferenceService
internal import Settings

/// `ocelli serve`: runs the daemon.
enum ServeCommand: Command {
    static let name = "serve"
    static let readsSignals = true
    static let summary = "Serve models over HTTP until a signal ends it."

    static let usage = ["[MODEL|DIR]... [--config FILE] [--listen ADDRESS]... [SETTINGS]"]

    static var about: String {
        """
        Serves image models over HTTP/1.1. Without arguments: the models that come with Ocelli, on
        127.0.0.1:8080. MODEL is a model file, a bundle or a folder of numbered versions, DIR a folder of models;
        both are values of --models.

          ocelli serve yolo.onnx
          ocelli serve ./models --listen :8080
          curl --data-binary @cat.jpg localhost:8080/v1/classify

        SIGTERM or Ctrl-C drains: the daemon accepts no new requests, answers those that it has accepted, and
        exits. A second signal exits at once. SIGHUP reloads the configuration and the models without losing
        a request.

          -c, --config FILE
                A JSON5 file with any of the settings below; `ocelli help config` prints one with comments.

        Every setting below is also an environment variable (OCELLI_LISTEN) and a key of the file (listen).
        Flags override variables, variables override the file.
        \(ConfigurationText.flags)
        """
    }

    static let initial: [String] = []

    static func take(word: String, into request: inout [String]) throws { request.append(word) }

    static func run(_ request: [String], settings: SettingsFlags) async throws -> Int32 {
        var flags = settings
        flags.add(request, to: "--models")
        let source = flags
        var warnings: [String] = []
        let now = try source.resolveForms { warnings.append($0) }
        return try await Daemon.run(now, warnings: warnings, reload: { try source.resolveForms { _ in } })
    }
}
