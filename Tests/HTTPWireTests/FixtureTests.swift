import Foundation
import HTTPWire
import TestSupport
import Testing

/// Replays the cases of `Fixtures/*.md` whole, byte by byte, and split at every point, in guarded memory.
@Suite struct FixtureTests {
    static let files: [String] = {
        let folder = SharedData.packageRoot.appendingPathComponent("Tests/HTTPWireTests/Fixtures")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix(".md") && $0 != "README.md" }.sorted()
    }()

    static func cases(_ file: String) throws -> [Fixture] {
        let url = SharedData.packageRoot.appendingPathComponent("Tests/HTTPWireTests/Fixtures/\(file)")
        return try Fixture.read(String(contentsOf: url, encoding: .utf8))
    }

    @Test("every fixture gives its events read whole, byte by byte, and cut in two at any point", arguments: files)
    func everyCaseHolds(file: String) throws {
        for fixture in try Self.cases(file) {
            switch fixture.kind {
            case .connection: try replay(fixture, ConnectionReplay(limits: fixture.limits))
            case .multipart(let boundary):
                try replay(fixture, MultipartReplay(boundary: boundary, limits: fixture.limits))
            }
        }
    }

    private func replay(_ fixture: Fixture, _ replay: some Replay) throws {
        let input = try #require(fixture.input, "\(fixture): there is no input")
        let expected = try #require(fixture.events, "\(fixture): there are no events").map(FixtureText.written)
        let memory = GuardedBytes(count: input.count)
        func check(_ lines: [[UInt8]], _ how: @autoclosure () -> String) -> Bool {
            let seen = lines.map(FixtureText.written)
            if seen == expected { return true }
            Issue.record(
                "\(fixture), \(how())\n--- expected\n\(expected.joined(separator: "\n"))\n--- seen\n\(seen.joined(separator: "\n"))"
            )
            return false
        }
        guard check(replay.run(input, cuts: [], memory: memory), "whole"),
            check(replay.run(input, cuts: [], memory: memory, atStart: true), "whole, behind a guard page"),
            check(replay.run(input, cuts: 0..<input.count, memory: memory), "byte by byte")
        else { return }
        for cut in 0...input.count {
            guard check(replay.run(input, cuts: [cut], memory: memory), "cut at \(cut)") else { return }
        }
    }

    @Test("every fixture names a section and has its own title, and the threat model has their number")
    func everyCaseNamesTheSectionThatDecidesIt() throws {
        var titles: Set<String> = []
        var count = 0
        for file in Self.files {
            for fixture in try Self.cases(file) {
                count += 1
                #expect(fixture.rfc.contains("section"), "\(file): \(fixture)")
                #expect(titles.insert(fixture.title).inserted, "\(file): \(fixture) has another case's title")
            }
        }
        #expect(count >= 200)
        let document = SharedData.packageRoot.appendingPathComponent("docs/threat-model.md")
        let text = try String(contentsOf: document, encoding: .utf8)
        #expect(text.contains("tested with \(count) conformance cases"), "docs/threat-model.md: there are \(count)")
    }

    /// Every error of the module has a case, except errors that no input on the wire can cause.
    @Test("every reason for a wire error is shown by a fixture, except multipart_boundary")
    func everyReasonIsShown() throws {
        var shown: Set<String> = []
        for file in Self.files {
            for fixture in try Self.cases(file) {
                for line in fixture.events ?? [] {
                    let words = String(decoding: line, as: UTF8.self).split(separator: " ")
                    if words.first == "error", let label = words.last { shown.insert(String(label)) }
                }
            }
        }
        let missing = WireError.Reason.allCases.map(\.rawValue).filter { !shown.contains($0) }
        // The boundary is from a Content-Type: MultipartTests has its cases.
        #expect(missing == ["multipart_boundary"])
    }
}
