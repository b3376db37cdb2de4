internal import InferenceService
internal import Settings

/// `ocelli serve`: the daemon.
enum ServeCommand: Command {
    static let name = "serve"
    static let summary = "Serve models over HTTP until a signal ends it."

    static var help: String {
        """
        Usage: ocelli serve [--config FILE] [--models DIR]... [--listen ADDRESS]... [SETTINGS]

        Serves image models over HTTP/1.1. Without any flag: the models that came with Ocelli, on
        127.0.0.1:8080.

          ocelli serve --models ./models --listen :8080
          curl --data-binary @cat.jpg localhost:8080/v1/classify

        SIGTERM or Ctrl-C drains: nothing new is accepted, everything accepted is answered. A second one ends
        at once. SIGHUP reloads the configuration and the models without losing a request.

          -c, --config FILE
                A JSON5 file with any of the settings below; `ocelli help config` prints one, commented.

        Every setting below is also a variable (OCELLI_LISTEN) and a key of the file (listen). Flags win over
        variables, variables over the file.
        \(ConfigurationText.flags)
        """
    }

    static let flags = SettingsFlags.names

    static func run(_ arguments: [String]) async throws -> Int32 {
        var reader = ArgumentReader(arguments, command: name, known: flags)
        var settings = SettingsFlags()
        while let argument = reader.next() {
            switch argument {
            case .flag(let flag, let value):
                guard try settings.take(flag, value: value, from: &reader) else { throw reader.unknown(flag) }
            case .word(let word):
                throw UsageError(
                    "\"\(word)\" is not expected here: folders with models are given with --models \(word)")
            }
        }
        let sources = settings
        var warnings: [String] = []
        let now = try sources.resolve { warnings.append($0) }
        return try await Daemon.run(now, warnings: warnings, reload: { try sources.resolve { _ in } })
    }
}
