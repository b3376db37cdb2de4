internal import InferenceService
internal import Settings
internal import SystemSupport

/// `ocelli help`: prints help and generated documents.
enum HelpCommand: Command {
    static let name = "help"
    static let runsModels = false
    static let summary = "Explain a command, or print a commented configuration file (`ocelli help config`)."
    static let usage = ["[COMMAND | config | settings | man | completion | completion-zsh | completion-fish]"]
    static let about = """
          config           a commented configuration file with every setting at its default
          settings         the settings as Markdown (docs/settings.md)
          man              the manual page: ocelli help man | man -l -
          completion       completion for bash: source <(ocelli help completion)
          completion-zsh   completion for zsh: source <(ocelli help completion-zsh)
          completion-fish  completion for fish: ocelli help completion-fish | source
        """
    static let takesSettings = false
    static let initial: String? = nil

    static func take(word: String, into topic: inout String?) throws { topic = topic ?? word }

    /// The documents that are generated from the tables.
    private static func document(_ topic: String) -> String? {
        switch topic {
        case "config": ConfigurationText.json5
        case "settings": SettingsDocument.markdown
        case "man":
            ManualPage.roff(
                commands: Ocelli.commands.map { .init(name: $0.name, summary: $0.summary, help: $0.help) })
        case "completion": Completion.bash(Ocelli.commands.map { $0.completion }) + "\n"
        case "completion-zsh": Completion.zsh(Ocelli.commands.map { $0.completion }) + "\n"
        case "completion-fish": Completion.fish(Ocelli.commands.map { $0.completion }) + "\n"
        default: nil
        }
    }

    static var overview: String {
        var text = """
            ocelli \(OcelliVersion.number): serves image models over HTTP/1.1

            Usage: ocelli COMMAND [ARGUMENTS]


            """
        for command in Ocelli.commands {
            text += "  \(command.name.left(10))\(command.summary)\n"
        }
        return text + """

            `ocelli help COMMAND` explains a command. The exit status is 0 for success, 1 for a failure (standard
            error gives the reason), and 2 for a wrong command line or configuration.

            Examples:

              ocelli serve                                                     serve the model that comes with Ocelli
              curl --data-binary @seven.png localhost:8080/v1/classify         send it a picture
              ocelli classify seven.png                                        the same without a server
            """
    }

    static func run(_ topic: String?, settings: SettingsFlags) async throws -> Int32 {
        guard let topic else {
            Terminal.print(overview)
            return 0
        }
        if let text = document(topic) {
            Terminal.print(String(text.dropLast()))
            return 0
        }
        guard let command = Ocelli.commands.first(where: { $0.name == topic }) else {
            throw UsageError("no help for \"\(topic)\"; `ocelli help` lists the commands")
        }
        Terminal.print(command.help)
        return 0
    }
}
