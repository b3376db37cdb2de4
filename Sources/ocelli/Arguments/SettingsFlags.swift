internal import FoundationEssentials
internal import InferenceService
internal import Settings

/// Settings from the command line's flags, the environment and a configuration file, in descending precedence.
struct SettingsFlags: Sendable {
    private var flags: [(setting: Setting, text: String)] = []
    private var file: String?

    /// The flags that are settings, and `--config`.
    static let names = ["--config"] + SettingsTable.all.map(\.flag)

    /// Takes a flag if it is a setting or `--config`.
    mutating func take(_ flag: String, value: String?, from reader: inout ArgumentReader) throws -> Bool {
        if flag == "--config" || flag == "-c" {
            file = try reader.value(of: flag, value)
            return true
        }
        guard let setting = SettingsTable.all.first(where: { $0.flag == flag }) else { return false }
        // `--access-log` without a value means true; `--access-log false`, as in the help, is accepted too.
        if case .bool = setting.kind, value == nil {
            flags.append((setting, reader.word { setting.kind.value(of: $0) != nil } ?? "true"))
        } else {
            flags.append((setting, try reader.value(of: flag, value)))
        }
        return true
    }

    /// Adds words of the command line as values of a flag.
    mutating func add(_ words: [String], to flag: String) {
        guard let setting = SettingsTable.all.first(where: { $0.flag == flag }) else { return }
        flags += words.map { (setting, $0) }
    }

    /// The settings; throws an error that lists all mistakes.
    /// - Parameter warn: called with a sentence for each setting without effect.
    func resolve(warn: (String) -> Void = { Terminal.complain("ocelli: warning: \($0)") }) throws -> Settings {
        let settings = try resolveForms(warn: warn)
        try settings.check()
        return settings
    }

    /// The settings, with only the form of values checked; the daemon reports all other mistakes together.
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
