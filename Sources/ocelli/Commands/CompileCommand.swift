internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli compile`: models compiled before the daemon starts.
enum CompileCommand: Command {
    static let name = "compile"
    static let summary = "Compile models into the cache, so that the daemon starts fast."
    static let help = """
        Usage: ocelli compile [--cache-dir DIR] [MODEL]... [SETTINGS]

        Tries each model in a separate process, compiles it, runs it once, and stores the compiled model in cache_dir. A
        daemon with the same cache_dir and settings loads it from there. MODEL is a bundle, a model file, a folder of them,
        or a folder of numbered versions. Default: the models that `ocelli serve` would serve. Exits with 1 if a model cannot
        be served.

          ocelli compile --cache-dir /var/cache/ocelli models
          ocelli compile --cache-dir /cache --config /etc/ocelli/ocelli.json5

        A compiled model can be used only on the same processor and by the same version of Ocelli. Otherwise the daemon
        compiles the model at start.
        """

    static let flags = SettingsFlags.names

    static func run(_ arguments: [String]) async throws -> Int32 {
        var reader = ArgumentReader(arguments, command: name, known: flags)
        var settings = SettingsFlags()
        var paths: [String] = []
        while let argument = reader.next() {
            switch argument {
            case .word(let path): paths.append(path)
            case .flag(let flag, let value):
                guard try settings.take(flag, value: value, from: &reader) else { throw reader.unknown(flag) }
            }
        }
        let areAllGood = try await ModelCompilation.run(
            paths, settings: try settings.resolve(), output: Terminal.print, complain: Terminal.complain)
        return areAllGood ? 0 : 1
    }
}
