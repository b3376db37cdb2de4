internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli check`: whether bundles can be served.
enum CheckCommand: Command {
    static let name = "check"
    static let summary = "Check bundles: everything that is wrong with them, each with its place."
    static let help = """
        Usage: ocelli check BUNDLE... [SETTINGS]

        Loads each bundle (a folder with model.json) or model file as the daemon would, runs it once, and tells what it
        takes and gives, or everything that is wrong with it, with the JSON path. Of a folder with several, each is
        checked. Exits with 1 if any cannot be served.

          ocelli check models/digits
          ocelli check models
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
        guard !paths.isEmpty else { throw UsageError("no bundle is given; `ocelli help check` shows how") }
        let resolved = try settings.resolve()
        var failed = false
        for path in paths.flatMap(BundleCheck.bundles) {
            let (text, isGood) = await BundleCheck.run(path, settings: resolved)
            if isGood { Terminal.print(text) } else { Terminal.complain(text) }
            failed = failed || !isGood
        }
        return failed ? 1 : 0
    }
}
