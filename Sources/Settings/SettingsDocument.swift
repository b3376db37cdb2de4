/// docs/settings.md: the table of settings for people who read documentation.
package enum SettingsDocument {
    package static var markdown: String {
        var text = """
            # Settings

            Written by `ocelli help settings`. A setting has three spellings: `max_body` in the configuration file (JSON5, given
            with `--config`; `ocelli help config` prints one), `--max-body` on the command line, and `OCELLI_MAX_BODY` in the
            environment. Flags win over variables, variables over the file. Sizes: `512`, `"20MiB"`, `"1GiB"`. Times: `30`,
            `"500ms"`, `"30s"`, `"2m"`, `"1h"`.

            SIGHUP reloads the configuration. Settings marked with * are then left as they are, which the log says: they need
            a restart. Settings of models take effect as the models are loaded again, which the same signal does.

            """
        for group in SettingsTable.groups {
            text +=
                "\n## \(group.title)\n\n| setting | default | expected | what it does |\n| --- | --- | --- | --- |\n"
            for setting in group.settings {
                let mark = setting.needsRestart ? " *" : ""
                text +=
                    "| `\(setting.name)`\(mark) | `\(setting.text(in: Settings()))` | \(cell(setting.kind.expectation)) "
                    + "| \(cell(setting.summary)) |\n"
            }
        }
        return text
    }

    private static func cell(_ text: String) -> String {
        text.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|")
    }
}
