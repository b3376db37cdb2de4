internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli compile`: compiles models before the daemon starts.
enum CompileCommand: Command {
    static let name = "compile"
    static let summary = "Compile models into the cache, so that the daemon starts fast."
    static let usage = ["[--cache-dir DIR] [MODEL]... [SETTINGS]"]
    static let about = """
        Tries each model in a separate process, compiles it, runs it once, and stores the compiled model in cache_dir. A
        daemon with the same cache_dir and settings loads it from there. MODEL is a bundle, a model file, a folder of them,
        or a folder of numbered versions. Default: the models that `ocelli serve` would serve. Exits with 1 if a model cannot
        be served.

          ocelli compile --cache-dir /var/cache/ocelli models
          ocelli compile --cache-dir /cache --config /etc/ocelli/ocelli.json5

        A compiled model can be used only on the same processor and by the same version of Ocelli. Otherwise the daemon
        compiles the model at start.
        """
    static let initial: [String] = []

    static func take(word: String, into paths: inout [String]) throws { paths.append(word) }

    static func run(_ paths: [String], settings: SettingsFlags) async throws -> Int32 {
        let areAllGood = try await ModelCompilation.run(
            paths, settings: try settings.resolve(), output: Terminal.print, complain: Terminal.complain)
        return areAllGood ? 0 : 1
    }
}
