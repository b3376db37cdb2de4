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
            ("completion", "config/ocelli.bash-completion"), ("completion-zsh", "config/ocelli.zsh-completion"),
            ("completion-fish", "config/ocelli.fish-completion"),
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
            COMP_WORDS=(ocelli compare --task ""); COMP_CWORD=3; _ocelli; echo "${COMPREPLY[*]}"
            COMP_WORDS=(ocelli teach --method = n); COMP_CWORD=4; _ocelli; echo "${COMPREPLY[*]}"
            COMP_WORDS=(ocelli detect --crop f); COMP_CWORD=3; _ocelli; echo "${COMPREPLY[*]}"
            COMP_WORDS=(ocelli help completion-); COMP_CWORD=2; _ocelli; echo "${COMPREPLY[*]}"
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
                classify detect segment keypoints embed read
                nearest_mean nearest_neighbors
                fit fill
                completion-zsh completion-fish

                """, "\(result.text)\(result.errors)")
    }

    /// The candidates of fish itself, without descriptions.
    @Test(
        "the fish completion completes commands, flags and values",
        .enabled(if: MetricsTests.hasTool("fish"), "fish is not installed (apt install fish)"))
    func theFishCompletionCompletes() throws {
        let script = """
            set -x HOME /nonexistent
            source (\(Daemon.binary.path) help completion-fish | psub)
            for line in 'ocelli ser' 'ocelli serve --max-b' 'ocelli serve --log-format ' 'ocelli load --conn' \
                'ocelli compare --task ' 'ocelli teach --method=n' 'ocelli init --f' 'ocelli init --max-b' 'ocelli help completion-'
                echo (complete -C $line | string split -f1 \\t | sort)
            end
            """
        let result = try Shell.run("fish", ["--no-config", "-c", script])
        #expect(
            result.text == """
                serve
                --max-batch --max-body
                json text
                --connections
                classify detect embed keypoints read segment
                --method=nearest_mean --method=nearest_neighbors
                --force

                completion-fish completion-zsh

                """, "\(result.text)\(result.errors)")
    }

    /// zsh completes in a terminal only: one of zsh's own, where a key writes the completed line to a file.
    @Test(
        "the zsh completion completes commands, flags and values",
        .enabled(if: MetricsTests.hasTool("zsh"), "zsh is not installed (apt install zsh)"))
    func theZshCompletionCompletes() throws {
        let script = """
            zmodload zsh/zpty
            out=$(mktemp)
            zpty -b shell zsh -f
            zpty -w shell "autoload -U compinit; compinit -u -D; source <('\(Daemon.binary.path)' help completion-zsh)
            finish() { print -r -- \\"\\$BUFFER\\" >>$out; BUFFER= }; zle -N finish; bindkey '^X' finish; print start >>$out"
            lines() { for ((turn = 0; turn < 600; turn++)); do (( $(wc -l <$out) >= $1 )) && return; sleep 0.05; done }
            lines 1
            count=1
            for line in 'ocelli ser' 'ocelli serve --max-bod' 'ocelli serve --log-format=j' 'ocelli serve --log-format j' \
                'ocelli load --conn' 'ocelli compare --task k' 'ocelli teach --method nearest_m' 'ocelli init --for' \
                'ocelli init --max' 'ocelli help completion-z'; do
                zpty -w -n shell "$line"$'\\t\\x18'
                lines $((++count))
            done
            cat $out
            rm $out
            """
        let result = try Shell.run("zsh", ["-f", "-c", script])
        #expect(
            result.text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) } == [
                "start", "ocelli serve", "ocelli serve --max-body=", "ocelli serve --log-format=json",
                "ocelli serve --log-format json", "ocelli load --connections=", "ocelli compare --task keypoints",
                "ocelli teach --method nearest_mean", "ocelli init --force", "ocelli init --max",
                "ocelli help completion-zsh",
            ], "\(result.text)\(result.errors)")
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
