import Foundation
import TestSupport
import Testing

/// `scripts/test`: its parts, and its summary.
@Suite struct TestSummaryTests {
    private static let scripts = SharedData.packageRoot.appendingPathComponent("scripts")

    private func summary(of log: String, status: Int = 0) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let cases =
            #"<testsuites><testsuite><testcase classname="T.S" name="good()" time="1.5"/></testsuite></testsuites>"#
        try cases.write(to: folder.appendingPathComponent("one.xml"), atomically: true, encoding: .utf8)
        try log.write(to: folder.appendingPathComponent("one.log"), atomically: true, encoding: .utf8)
        let result = try Shell.run(
            "python3", [Self.scripts.appendingPathComponent("test-summary.py").path, folder.path, "0", "240", "300"])
        #expect(result.status == 0, "\(result.errors)")
        return result.text
    }

    @Test(
        "the test summary names the tests that did not run, and the commands that run them",
        .enabled(if: Shell.has("python3"), "python3 is not installed"))
    func skippedTestsAreNamedWithTheCommandThatRunsThem() throws {
        let text = try summary(
            of: """
                ➜ Suite LoadTests skipped: "wrk is not installed"
                \u{1B}[90m➜\u{1B}[0m Test drains(_:) skipped: "wrk is not installed"
                ➜ Test reloads() skipped: "wrk is not installed"
                ➜ Test quotas() skipped: "needs root and a writable CPU controller of version 1"
                ➜ Test pages() skipped: "Chromium is not installed (apt install chromium)"
                ➜ Test byName() skipped: "asked for by name: `PROVE=1 make test TESTS=S`"
                ➜ Test packages() skipped: "\(LongTests.absence)"
                ➜ Test rollouts() skipped: "\(LongTests.absence)"
                ◇ Test case passing 1 argument row → a refused body is skipped to "does what it says" started.
                """)
        let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(lines.contains("skipped: drains, reloads"))
        #expect(lines.contains("to run: make setup-tests && make test TESTS='drains|reloads'"))
        #expect(lines.contains("to run: sudo make test TESTS='quotas'"))
        #expect(lines.contains("to run: apt install chromium && make test TESTS='pages'"))
        #expect(lines.contains("to run: PROVE=1 make test TESTS=S"))
        #expect(lines.filter { $0.hasPrefix("left out: 2 long tests") && $0.contains("`make test-all`") }.count == 1)
        #expect(lines.contains { $0.hasPrefix("built in 240 s, tested in 300 s: 1 tests") })
        #expect(!text.contains("packages") && !text.contains("a refused body"))
    }

    /// Each suite is in one part; the last part has the remaining suites.
    @Test("each test suite of the tree is in exactly one part of scripts/test")
    func everySuiteIsInOnePart() throws {
        let script = try String(contentsOf: Self.scripts.appendingPathComponent("test"), encoding: .utf8)
        func words(_ pattern: Regex<(Substring, Substring)>) -> [String] {
            script.matches(of: pattern).map { $0.output.1.replacingOccurrences(of: #"\\"#, with: #"\"#) }
        }
        let letters = try #require(words(/letters='([^']*)'/).first).split(separator: " ")
        let filters =
            letters.map { #"^EndToEndTests\.[\#($0)]"# } + words(/--filter '([^'$]*)'"/).filter { !$0.contains("$") }
        let rest = try #require(words(/--skip '([^']*)'/).first)
        var targets: Set<String> = []
        for case let path as String in FileManager.default.enumerator(
            atPath: SharedData.packageRoot.appendingPathComponent("Tests").path) ?? .init()
        where path.hasSuffix(".swift") {
            let target = path.prefix { $0 != "/" }
            guard target.hasSuffix("Tests") else { continue }
            let text = try String(
                contentsOf: SharedData.packageRoot.appendingPathComponent("Tests/\(path)"), encoding: .utf8)
            for suite in text.matches(of: /(?m)^(?:@Suite.* )?(?:final )?(?:struct|class|enum|actor) (\w+Tests)\b/) {
                targets.insert("\(target).\(suite.output.1)/test()/\(suite.output.1).swift:1:1")
            }
        }
        #expect(targets.count > 150)
        for name in targets {
            let parts = try filters.filter { try name.contains(Regex($0)) }.count
            #expect(try parts + (name.contains(Regex(rest)) ? 0 : 1) == 1, "\(name) is in \(parts) parts")
        }
    }
}
