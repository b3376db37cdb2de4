/// Writes the settings out as text for people: the commented configuration file, and the flags' help.
package enum ConfigurationText {
    /// config/ocelli.json5, whole: every setting with its default and what it means.
    package static var json5: String {
        var text = """
            // Ocelli's configuration, with every setting at its default. JSON5: comments and trailing commas are welcome.
            // Written by `ocelli help config`; a setting that is left out has the value shown here.
            // Each setting is also a flag (--max-body 40MiB) and a variable (OCELLI_MAX_BODY=40MiB); flags win over
            // variables, variables over this file. Sizes: 512, "20MiB", "1GiB". Times: 30, "500ms", "30s", "2m", "1h".
            {

            """
        for group in SettingsTable.groups {
            text += "\n  // --- \(group.title) ---\n"
            for setting in group.settings {
                text += "\n" + wrapped(setting.summary, prefix: "  // ")
                text += "  // Expected: \(setting.kind.expectation).\n"
                text += "  \(setting.name): \(setting.text(in: Settings())),\n"
            }
        }
        return text + "}\n"
    }

    /// The settings as flags, for `ocelli help serve`.
    package static var flags: String {
        var text = ""
        for group in SettingsTable.groups {
            text += "\n\(group.title):\n"
            for setting in group.settings {
                text += "  \(setting.flag) \(setting.kind.placeholder)\n"
                text += wrapped("\(setting.summary) Default: \(setting.text(in: Settings())).", prefix: "        ")
            }
        }
        return text
    }

    /// Breaks text into lines of at most 100 characters, each with the prefix.
    private static func wrapped(_ text: String, prefix: String) -> String {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, prefix.count + line.count + 1 + word.count > 100 {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " \(word)"
        }
        if !line.isEmpty { lines.append(line) }
        return lines.map { prefix + $0 + "\n" }.joined()
    }
}
