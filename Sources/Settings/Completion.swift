/// Command line completion: what each subcommand takes, for the script of each shell.
package enum Completion {
    /// A subcommand and its own flags.
    package struct Command: Sendable {
        let name: String, summary: String
        let flags: [Flag]
        /// True if it has the settings as flags, too.
        let takesSettings: Bool

        package init(name: String, summary: String, flags: [Flag], takesSettings: Bool) {
            (self.name, self.summary, self.takesSettings) = (name, summary, takesSettings)
            self.flags = flags + [Flag(names: ["--help"], help: "Print the help.", value: .none)]
        }
    }

    /// A flag.
    package struct Flag: Sendable {
        /// The names, e.g. `-o` and `--output`.
        let names: [String]
        /// The first sentence of its help.
        let help: String
        let value: Value

        /// - Parameter help: the whole help.
        package init(names: [String], help: String, value: Value) {
            (self.names, self.value) = (names, value)
            let end = help.firstRange(of: ". ")?.lowerBound ?? help.endIndex
            let sentence = help[..<end].split(separator: " ").joined(separator: " ")
            self.help = sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
        }

        init(_ setting: Setting) {
            self.init(names: [setting.flag], help: setting.summary, value: Value(setting))
        }
    }

    /// The value that a flag takes.
    package enum Value: Sendable, Equatable {
        case none
        /// `true` or `false` after an equals sign; without a value, true.
        case bool
        case words([String])
        case file, folder
        /// Any other value.
        case text

        /// The value of a command's own flag.
        /// - Parameters:
        ///   - placeholder: the word for it in the help; nil without a value.
        ///   - words: the words that it can be; empty for any.
        package init(placeholder: String?, words: [String]) {
            self =
                switch placeholder {
                case nil: .none
                case _ where !words.isEmpty: .words(words)
                case "DIR": .folder
                case "FILE", "BUNDLE": .file
                default: .text
                }
        }

        init(_ setting: Setting) {
            self =
                switch setting.kind {
                case .bool: .bool
                case .choice(let names), .choices(let names, _): .words(names)
                case _ where folders.contains(setting.name): .folder
                case _ where files.contains(setting.name): .file
                default: .text
                }
        }
    }

    /// The settings that are folders, and those that are files, or either.
    private static let folders = ["models", "cache_dir", "state_dir", "taught_dir", "keep_dir", "labelstudio_files"]
    private static let files = ["tokens_file", "onnxruntime_path", "litert_path"]

    /// The flags of all commands that take settings.
    static let settings =
        [
            Flag(names: ["--config"], help: "A JSON5 file with settings.", value: .file)
        ] + SettingsTable.all.map { Flag($0) }

    /// The words after `ocelli help`.
    static func topics(_ commands: [Command]) -> [String] {
        commands.map(\.name) + ["config", "settings", "man", "completion", "completion-zsh", "completion-fish"]
    }
}
