/// Completion of the command line for bash.
package enum Completion {
    /// - Parameter commands: the subcommands' names, in order.
    package static func bash(commands: [String]) -> String {
        let flags = ["--config", "--help"] + SettingsTable.all.map(\.flag)
        let choices = SettingsTable.all.compactMap { setting -> String? in
            switch setting.kind {
            case .choice(let names): "        \(setting.flag)) words=\"\(names.joined(separator: " "))\" ;;"
            case .bool: "        \(setting.flag)) words=\"true false\" ;;"
            default: nil
            }
        }
        return """
            # bash completion for ocelli. Written by `ocelli help completion`.
            _ocelli() {
                local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=
                COMPREPLY=()
                if [ "$COMP_CWORD" -eq 1 ]; then
                    COMPREPLY=($(compgen -W "\(commands.joined(separator: " "))" -- "$word"))
                    return
                fi
                case $before in
            \(choices.joined(separator: "\n"))
                    --models | --cache-dir) COMPREPLY=($(compgen -d -- "$word")); return ;;
                    --config | --tokens-file) COMPREPLY=($(compgen -f -- "$word")); return ;;
                    help) words="\(commands.joined(separator: " ")) config settings man completion" ;;
                esac
                if [ -z "$words" ] && [[ $word == -* ]]; then
                    words="\(flags.joined(separator: " "))"
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
