internal import SystemSupport

/// ocelli(1), in the man macros (groff_man(7)).
package enum ManualPage {
    /// A subcommand.
    package struct Command {
        let name: String, summary: String, help: String

        /// - Parameter help: as `ocelli help NAME` prints it: lines of usage, then paragraphs and indented lists.
        package init(name: String, summary: String, help: String) {
            (self.name, self.summary, self.help) = (name, summary, help)
        }

        /// The command lines: what stands behind `Usage:`, each with its continuation.
        fileprivate var synopsis: [String] {
            var lines: [String] = []
            for line in help.split(separator: "\n", omittingEmptySubsequences: false) {
                guard !line.isEmpty else { break }
                let words = line.replacing("Usage:", with: "", maxReplacements: 1).split(separator: " ")
                if words.first == "ocelli" {
                    lines.append(words.joined(separator: " "))
                } else if !lines.isEmpty {
                    lines[lines.count - 1] += " " + words.joined(separator: " ")
                }
            }
            return lines
        }

        /// What follows the usage.
        fileprivate var explanation: String {
            help.split(separator: "\n", omittingEmptySubsequences: false).drop { !$0.isEmpty }.dropFirst()
                .joined(separator: "\n")
        }
    }

    /// - Parameter commands: the subcommands, in order. For `serve`, whose settings have their own section, only the summary is used.
    package static func roff(commands: [Command]) -> String {
        head(commands) + description(of: commands) + settings + tail
    }

    private static func head(_ commands: [Command]) -> String {
        var text = """
            .\\" Written by `ocelli help man`.
            .TH OCELLI 1 "" "ocelli \(OcelliVersion.number)" "User Commands"
            .SH NAME
            ocelli \\- serve image models over HTTP
            .SH SYNOPSIS
            .nf

            """
        for line in commands.flatMap(\.synopsis) { text += escaped(line) + "\n" }
        return text
    }

    private static func description(of commands: [Command]) -> String {
        var text = """
            .fi
            .SH DESCRIPTION
            Ocelli loads image models and answers requests for them over HTTP/1.1:

            .nf
            .RS
            ocelli serve
            curl \\-\\-data\\-binary @seven.png localhost:8080/v1/classify
            .RE
            .fi
            .SH COMMANDS

            """
        for command in commands {
            text += ".SS \(escaped(command.name))\n\(escaped(command.summary))\n"
            guard command.name != "serve" else { continue }
            text += ".PP\n.nf\n"
            for line in command.explanation.split(separator: "\n", omittingEmptySubsequences: false) {
                text += escaped(String(line)) + "\n"
            }
            text += ".fi\n"
        }
        return text
    }

    private static var settings: String {
        var text = """
            .SH SETTINGS
            Each is a flag, a key of the configuration file (max_body for \\-\\-max\\-body), and a variable (OCELLI_MAX_BODY).
            Flags win over variables, variables over the file. Those marked with * need a restart; SIGHUP reloads the
            others.

            """
        for group in SettingsTable.groups {
            text += ".SS \(escaped(group.title))\n"
            for setting in group.settings {
                let mark = setting.needsRestart ? " \" *\"" : ""
                text += ".TP\n.BI \"\(escaped(setting.flag)) \" \"\(escaped(setting.kind.placeholder))\"\(mark)\n"
                text += "\(escaped(setting.summary)) Default: \(escaped(setting.text(in: Settings()))).\n"
            }
        }
        return text
    }

    private static var tail: String {
        """
        .SH SIGNALS
        .TP
        .BR SIGTERM ", " SIGINT
        Drain: /readyz answers 503 at once, new connections are accepted for drain_delay, and requests in progress are answered
        within drain_timeout. A second signal exits at once.
        .TP
        .B SIGHUP
        Reload the configuration, the tokens and the models. If anything is wrong, nothing changes and the log says why.
        .SH EXIT STATUS
        .TP
        .B 0
        Success. serve: all accepted requests were answered.
        .TP
        .B 1
        A failure, which standard error explains: a file, a model, an address or an answer.
        .TP
        .B 2
        The command line, a setting or the tokens file is wrong.
        .TP
        .B 3
        serve: drain_timeout passed before all accepted requests were answered.
        .TP
        .B 130
        serve: a second signal ended the drain.
        .SH ENVIRONMENT
        .TP
        .B OCELLI_CONFIG
        The configuration file, if \\-\\-config is not given.
        .TP
        .B OCELLI_GRACE
        The time from SIGTERM to SIGKILL, which is compared with drain_delay and drain_timeout at start.
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
        .TP
        .I /usr/share/doc/ocelli/docs
        The documents: http-api.md, model-json.md, operations.md, troubleshooting.md and others.
        .SH SEE ALSO
        curl(1), systemctl(1), journalctl(1). A running daemon describes its routes at /openapi.json.

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
