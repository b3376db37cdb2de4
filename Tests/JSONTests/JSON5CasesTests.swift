import Foundation
import JSON
import TestSupport
import Testing

/// JSON5 texts, valid and damaged, compared with another parser: Tests/FixtureMakers/make-json5-cases writes
/// Fixtures/json5.jsonl.
@Suite struct JSON5CasesTests {
    private struct Case: Decodable {
        let text: String
        let value: JSONValue
        let refused: Bool
    }

    /// The environment variable `JSON5_CASES` can name a longer file.
    private static let file =
        ProcessInfo.processInfo.environment["JSON5_CASES"].map { URL(fileURLWithPath: $0) }
        ?? SharedData.packageRoot.appendingPathComponent("Tests/JSONTests/Fixtures/json5.jsonl")

    @Test("each JSON5 fixture text has the value that another reader found, or is refused by both")
    func texts_haveTheValuesOfAnotherReader() throws {
        let lines = try Data(contentsOf: Self.file).split(separator: UInt8(ascii: "\n"))
        var refused = 0
        for line in lines {
            let expected = try JSONDecoder().decode(Case.self, from: line)
            let found = try? JSONTree.read(Array(expected.text.utf8), .json5).value
            refused += found == nil ? 1 : 0
            if found == (expected.refused ? nil : expected.value) { continue }
            Issue.record("\(String(decoding: line, as: UTF8.self)): found \(String(describing: found))")
        }
        #expect(lines.count >= 1_000 && refused > lines.count / 8 && refused < lines.count / 2)
    }

    @Test("bytes that are not UTF-8 are refused anywhere in a JSON5 text")
    func bytesThatAreNotUTF8_areRefused() {
        for bytes in [[0xC3], [0xA0], [0xE2, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]] as [[UInt8]] {
            for text in [
                bytes + Array("1".utf8), Array("{a".utf8) + bytes + Array(":1}".utf8),
                Array("'".utf8) + bytes + Array("'".utf8),
            ] {
                #expect(throws: JSONTextError.self) { try JSONTree.read(text, .json5) }
            }
        }
    }

    @Test("a JSON5 string continues on the next line after a backslash")
    func stringsMayGoOnInTheNextLine() throws {
        let text = "{a: 'one \\\n two\\\r\n three\\\u{2028}', b: 'tab\tbed\\v\\0'}"
        #expect(
            try JSONTree.read(Array(text.utf8), .json5).value
                == .object(["a": .string("one  two three"), "b": .string("tab\tbed\u{B}\0")]))
    }
}
