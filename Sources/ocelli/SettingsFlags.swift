internal import FoundationEssentials
internal import InferenceService
internal import Settings

/// Settings from the command line's flags, the environment and a configuration file, in the order of their weight.
struct SettingsFlags: Sendable {
    private var flags: [(setting: Setting, text: String)] = []
    private var file: String?

    /// The flags that are settings, and `--config`.
    static let names = ["--config"] + SettingsTable.all.map(\.flag)

    /// Takes a flag if it is one of these.
    mutating func take(_ flag: String, value: String?, from reader: inout ArgumentReader) throws -> Bool {
        if flag == "--config" || flag == "-c" {
            file = try reader.value(of: flag, value)
            return true
        }
        guard let setting = SettingsTable.all.first(where: { $0.flag == flag }) else { return false }
        // `--access-log` alone means true; `--access-log false` is what help says too.
        if case .bool = setting.kind, value == nil {
            flags.append((setting, reader.word { setting.kind.value(of: $0) != nil } ?? "true"))
        } else {
            flags.append((setting, try reader.value(of: flag, value)))
        }
        return true
    }

    /// The settings, or an error that says everything that is wrong.
    /// - Parameter warn: receives what has no effect, a sentence each.
    func resolve(warn: (String) -> Void = { Terminal.complain("ocelli: warning: \($0)") }) throws -> Settings {
        let settings = try resolveForms(warn: warn)
        try settings.check()
        return settings
    }

    /// The same, but of values only the form is checked: the daemon reports the rest with what else is wrong.
    func resolveForms(warn: (String) -> Void) throws -> Settings {
        let environment = ProcessInfo.processInfo.environment
        var loader = SettingsLoader()
        if let file = file ?? environment["OCELLI_CONFIG"] { loader.load(file: file) }
        loader.load(environment: environment)
        var seen: Set<String> = []
        for (setting, text) in flags {
            loader.set(setting, text: text, origin: setting.flag, appending: !seen.insert(setting.name).inserted)
        }
        loader.takeVertexPort(environment)
        guard loader.problems.isEmpty else {
            throw UsageError(loader.problems.joined(separator: "\nocelli: "))
        }
        for warning in loader.warnings { warn(warning) }
        return loader.settings
    }
}
