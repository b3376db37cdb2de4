/// Completion of the command line for bash.
package enum Completion {
    /// A subcommand, and every flag that it knows.
    package struct Command: Sendable {
        let name: String
        let flags: [String]

        package init(name: String, flags: [String]) {
            self.name = name
            self.flags = flags
        }
    }

    /// - Parameter commands: the subcommands, in order.
    package static func bash(commands: [Command]) -> String {
        // The settings' flags are most of each command's: they are named once.
        let settings = SettingsTable.all.map(\.flag)
        let choices = SettingsTable.all.compactMap { setting -> String? in
            switch setting.kind {
            case .choice(let names):
                "        \(setting.flag) | \(setting.flag)=) words=\"\(names.joined(separator: " "))\" ;;"
            // Alone it is true; what follows it is not its value.
            case .bool: "        \(setting.flag)=) words=\"true false\" ;;"
            default: nil
            }
        }
        let flags = commands.map { command in
            let own = command.flags.filter { !settings.contains($0) }
            let words = own + ["--help"] + (command.flags.contains(settings[0]) ? ["$settings"] : [])
            return "            \(command.name)) words=\"\(words.joined(separator: " "))\" ;;"
        }
        let names = commands.map(\.name).joined(separator: " ")
        return """
            # bash completion for ocelli. Written by `ocelli help completion`.
            _ocelli() {
                local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=
                local settings="\(settings.joined(separator: " "))"
                COMPREPLY=()
                if [ "$COMP_CWORD" -eq 1 ]; then
                    COMPREPLY=($(compgen -W "\(names)" -- "$word"))
                    return
                fi
                # "=" is a word of its own to bash.
                if [ "$word" = = ]; then
                    word= before+==
                elif [ "$before" = = ]; then
                    before=${COMP_WORDS[COMP_CWORD-2]}=
                fi
                case $before in
            \(choices.joined(separator: "\n"))
                    --models | --models= | --cache-dir | --cache-dir= | --explain | --explain=)
                        COMPREPLY=($(compgen -d -- "$word"))
                        return
                        ;;
                    --config | --config= | --tokens-file | --tokens-file=) COMPREPLY=($(compgen -f -- "$word")); return ;;
                    --crop | --crop=) words="center fit fill" ;;
                    help) words="\(names) config settings man completion" ;;
                esac
                if [ -z "$words" ] && [[ $word == -* ]]; then
                    case ${COMP_WORDS[1]} in
            \(flags.joined(separator: "\n"))
                    esac
                fi
                if [ -n "$words" ]; then
                    COMPREPLY=($(compgen -W "$words" -- "$word"))
                else
                    COMPREPLY=($(compgen -f -- "$word"))
                fi
            }
            complete -o filenames -F _ocelli ocelli
            """
    }
}
