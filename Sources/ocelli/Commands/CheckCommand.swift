internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli check`: whether bundles can be served.
enum CheckCommand: Command {
    static let name = "check"
    static let summary = "Check bundles and report every mistake with its location."
    static let help = """
        Usage: ocelli check BUNDLE... [SETTINGS]
               ocelli check BUNDLE --against FILE [--at-least SHARE] [SETTINGS]

        Loads each bundle (a folder with model.json) or model file as the daemon would, runs it once, and prints its
        inputs and outputs, or every mistake with its JSON path. For a folder of bundles, checks each bundle. Exits with 1
        if a bundle cannot be served.

          ocelli check models/digits
          ocelli check models
          ocelli check models/vit --against expected.csv --at-least 0.99

          --against FILE    Compare answers with JSON lines or CSV: `picture`, `label` (or `index`), and optionally
                            `confidence` and `tensor`, a .npy file with the original's tensor of the picture; in JSON also
                            `probabilities`, an array of all classes or an object by label. CSV without a heading
                            has the columns picture, label, and optionally a confidence or a tensor. A row with a tensor
                            needs no label. Paths are relative to FILE. Reports how many answers agree, the worst one,
                            and where a tensor differs from the original's. Exits with 1 if a row could not be compared.
          --at-least SHARE  With --against: exit with 1 only if a smaller share agrees, 0 to 1. Failed rows do not agree.
        """

    static let flags = ["--against", "--at-least"] + SettingsFlags.names

    static func run(_ arguments: [String]) async throws -> Int32 {
        var reader = ArgumentReader(arguments, command: name, known: flags)
        var settings = SettingsFlags()
        var paths: [String] = []
        var comparison = BundleComparison.Request()
        while let argument = reader.next() {
            switch argument {
            case .word(let path): paths.append(path)
            case .flag("--against", let value): comparison.file = try reader.value(of: "--against", value)
            case .flag("--at-least", let value):
                let text = try reader.value(of: "--at-least", value)
                guard let share = Double(text), (0...1).contains(share) else {
                    throw UsageError("--at-least: expected a number from 0 to 1, found \"\(text)\"")
                }
                comparison.atLeast = share
            case .flag(let flag, let value):
                guard try settings.take(flag, value: value, from: &reader) else { throw reader.unknown(flag) }
            }
        }
        guard !paths.isEmpty else { throw UsageError("no bundle given; `ocelli help check` shows how") }
        let resolved = try settings.resolve()
        if !comparison.file.isEmpty {
            guard paths.count == 1 else { throw UsageError("--against compares one bundle at a time") }
            comparison.bundle = paths[0]
            let isGood = try await BundleComparison.run(
                comparison, settings: resolved, output: Terminal.print, complain: Terminal.complain,
                progress: Terminal.progress)
            return isGood ? 0 : 1
        }
        guard comparison.atLeast == nil else { throw UsageError("--at-least is for --against FILE") }
        var failed = false
        for path in paths.flatMap(BundleCheck.bundles) {
            let (text, isGood) = await BundleCheck.run(path, settings: resolved)
            if isGood { Terminal.print(text) } else { Terminal.complain(text) }
            failed = failed || !isGood
        }
        return failed ? 1 : 0
    }
}
