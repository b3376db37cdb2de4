/// ocelli(1), in the man macros (groff_man(7)).
package enum ManualPage {
    /// - Parameter commands: the subcommands' names and summaries, in order.
    package static func roff(commands: [(name: String, summary: String)]) -> String {
        var text = """
            .\\" Written by `ocelli help man`.
            .TH OCELLI 1 "" "ocelli \(OcelliVersion.number)" "User Commands"
            .SH NAME
            ocelli \\- serve image models over HTTP
            .SH SYNOPSIS
            .B ocelli serve
            .RB [ \\-\\-config
            .IR FILE ]
            .RB [ \\-\\-models
            .IR DIR ]...
            .RB [ \\-\\-listen
            .IR ADDRESS ]...
            .RI [ SETTINGS ]
            .br
            .B ocelli classify
            .RI [ OPTIONS ]
            .IR FILE ...
            .br
            .B ocelli help
            .RI [ COMMAND ]
            .SH DESCRIPTION
            Ocelli loads image classifiers and answers requests for them over HTTP/1.1:

            .nf
            .RS
            ocelli serve
            curl \\-\\-data\\-binary @seven.png localhost:8080/v1/classify
            .RE
            .fi
            .SH COMMANDS

            """
        for command in commands {
            text += ".TP\n.B \(escaped(command.name))\n\(escaped(command.summary))\n"
        }
        text += """
            .PP
            .B ocelli help
            .I COMMAND
            explains one.
            .SH SETTINGS
            Each is a flag, a key of the configuration file (max_body for \\-\\-max\\-body), and a variable (OCELLI_MAX_BODY).
            Flags win over variables, variables over the file. Those marked with * need a restart; SIGHUP reloads the
            others.

            """
        for group in SettingsTable.groups {
            text += ".SS \(escaped(group.title))\n"
            for setting in group.settings {
                let mark = setting.needsRestart ? " *" : ""
                text +=
                    ".TP\n.BI \"\(escaped(setting.flag)) \" \"\(escaped(setting.kind.placeholder))\"\(mark.isEmpty ? "" : " \" *\"")\n"
                text += "\(escaped(setting.summary)) Default: \(escaped(setting.text(in: Settings()))).\n"
            }
        }
        return text + """
            .SH SIGNALS
            .TP
            .BR SIGTERM ", " SIGINT
            Drain: /readyz says 503 at once; new connections are taken for drain_delay more; what was accepted is answered, for at
            most drain_timeout. A second signal ends at once.
            .TP
            .B SIGHUP
            Reload the configuration, the tokens and the models. If anything is wrong, nothing changes and the log says why.
            .SH EXIT STATUS
            .TP
            .B 0
            Everything that was accepted has been answered.
            .TP
            .B 1
            A failure, which standard error explains.
            .TP
            .B 2
            The command line is wrong.
            .TP
            .B 3
            The drain's time was up before everything was answered.
            .TP
            .B 130
            A second signal ended a drain.
            .SH ENVIRONMENT
            .TP
            .B OCELLI_CONFIG
            The configuration file, where \\-\\-config names none.
            .TP
            .B NOTIFY_SOCKET, WATCHDOG_USEC, LISTEN_FDS, CACHE_DIRECTORY, JOURNAL_STREAM
            Set by systemd; see sd_notify(3), sd_listen_fds(3) and systemd.exec(5).
            .SH FILES
            .TP
            .I /etc/ocelli/ocelli.json5
            The configuration of the packaged service.
            .TP
            .I /var/cache/ocelli
            Compiled models of the packaged service.

            """
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "\"": result += "\\(dq"
            default: result.append(character)
            }
        }
        // A line that begins with a dot or a quote would be a request of roff's.
        return result.hasPrefix(".") || result.hasPrefix("'") ? "\\&" + result : result
    }
}
