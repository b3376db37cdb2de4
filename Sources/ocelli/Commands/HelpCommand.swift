internal import InferenceService

/// `ocelli help`.
enum HelpCommand: Command {
    static let name = "help"
    static let summary = "Explain a command, or print a commented configuration file (`ocelli help config`)."
    static let help = "Usage: ocelli help [COMMAND | config]"

    static var overview: String {
        var text = """
            ocelli \(OcelliVersion.number): serves image classifiers over HTTP/1.1

            Usage: ocelli COMMAND [ARGUMENTS]


            """
        for command in Ocelli.commands {
            text +=
                "  \(command.name)" + String(repeating: " ", count: max(1, 10 - command.name.count))
                + "\(command.summary)\n"
        }
        return text + """

            `ocelli help COMMAND` explains one. To begin:

              ocelli serve                                                     serve the model that came with Ocelli
              curl --data-binary @seven.png localhost:8080/v1/classify         ask it
              ocelli classify seven.png                                        the same without a server
            """
    }

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let topic = arguments.first else {
            Terminal.print(overview)
            return 0
        }
        if topic == "config" {
            Terminal.print(String(ConfigurationText.json5.dropLast()))
            return 0
        }
        guard let command = Ocelli.commands.first(where: { $0.name == topic }) else {
            throw UsageError("there is no help on \"\(topic)\"; `ocelli help` lists the commands")
        }
        Terminal.print(command.help)
        return 0
    }
}
