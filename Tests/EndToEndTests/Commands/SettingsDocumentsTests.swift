import Foundation
import Settings
import TestSupport
import Testing

/// The documents in the tree that are generated from the table of settings are up to date.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)))
struct SettingsDocumentsTests {
    @Test(
        "each document of settings in the tree equals the output of `ocelli help`",
        arguments: [
            ("config", "config/ocelli.json5"), ("settings", "docs/settings.md"), ("man", "docs/ocelli.1"),
            ("completion", "config/ocelli.bash-completion"),
        ])
    func theFileIsWhatTheCommandPrints(_ topic: String, _ path: String) throws {
        let result = try Shell.run(Daemon.binary.path, ["help", topic])
        #expect(result.status == 0)
        let file = try String(contentsOf: SharedData.packageRoot.appendingPathComponent(path), encoding: .utf8)
        #expect(result.text == file, "regenerate it: ocelli help \(topic) > \(path)")
    }

    @Test("the bash completion completes commands, flags and values")
    func theCompletionCompletes() throws {
        let script = """
            source <('\(Daemon.binary.path)' help completion)
            COMP_WORDS=(ocelli ser); COMP_CWORD=1; _ocelli; echo "${COMPREPLY[*]}"
            COMP_WORDS=(ocelli serve --max-b); COMP_CWORD=2; _ocelli; echo "${COMPREPLY[*]}"
            COMP_WORDS=(ocelli serve --log-format ""); COMP_CWORD=3; _ocelli; echo "${COMPREPLY[*]}"
            COMP_WORDS=(ocelli serve --access-log = f); COMP_CWORD=4; _ocelli; echo "${COMPREPLY[*]}"
            COMP_WORDS=(ocelli serve --load =); COMP_CWORD=3; _ocelli; echo "${COMPREPLY[*]}"
            COMP_WORDS=(ocelli load --conn); COMP_CWORD=2; _ocelli; echo "${COMPREPLY[*]}"
            COMP_WORDS=(ocelli init --f); COMP_CWORD=2; _ocelli; echo "${COMPREPLY[*]}"
            """
        let result = try Shell.run("bash", ["-c", script])
        #expect(
            result.text == """
                serve
                --max-batch --max-body
                text json
                false
                eager lazy
                --connections
                --force

                """, "\(result.text)\(result.errors)")
    }

    @Test(
        "groff formats docs/ocelli.1 without a warning",
        .enabled(if: MetricsTests.hasTool("groff"), "groff is not installed"))
    func theManualPageIsWellFormed() throws {
        let result = try Shell.run(
            "groff", ["-man", "-Tutf8", "-ww", "-z", SharedData.packageRoot.path + "/docs/ocelli.1"])
        #expect(result.status == 0)
        #expect(result.errors == "", "\(result.errors)")
    }
}
