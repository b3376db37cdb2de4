import Foundation
import TestSupport
import Testing

/// The table of docs/model-json.md with the meaning of each key of each source: it has every key that a reader uses,
/// and a reader uses each of its keys.
@Suite struct SourcesTableTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOf: SharedData.packageRoot.appendingPathComponent(path), encoding: .utf8)
    }

    /// Swift files below a folder.
    private static func sources(_ folder: String) throws -> [(file: String, text: String)] {
        let root = SharedData.packageRoot.appendingPathComponent(folder)
        let names = try FileManager.default.subpathsOfDirectory(atPath: root.path).filter { $0.hasSuffix(".swift") }
        return try names.sorted().map { ($0, try text("\(folder)/\($0)")) }
    }

    private static func table() throws -> String {
        let page = try text("docs/model-json.md")
        let start = try #require(page.range(of: "| source | key | becomes |"))
        let rest = page[start.lowerBound...]
        return String(rest[..<(rest.range(of: "\n\n")?.lowerBound ?? rest.endIndex)])
    }

    /// The texts matched by a pattern's first group.
    private static func matches(_ pattern: String, in text: String) throws -> [String] {
        let expression = try NSRegularExpression(pattern: pattern, options: [.dotMatchesLineSeparators])
        let whole = NSRange(text.startIndex..., in: text)
        return expression.matches(in: text, range: whole).compactMap {
            Range($0.range(at: 1), in: text).map { String(text[$0]) }
        }
    }

    /// The keys in a reader's source text.
    private static func keys(in text: String) throws -> Set<String> {
        let calls = #"\.(?:text|flag|number|numbers|integer|size|labels|object|has|value|scalarText)\("([A-Za-z_\-]+)""#
        var keys = try Set(matches(calls, in: text))
        keys.formUnion(try matches(#"(?:info|properties|members)\["([A-Za-z_.]+)"\]"#, in: text))
        keys.formUnion(try matches(#"tensorSize\(node, "([a-z_]+)""#, in: text))
        for list in try matches(#"for (?:key|\(key, [a-zA-Z]+\)) in \[(.*?)\]\s*(?:where|\{)"#, in: text) {
            let pairs = try matches(#"\(\s*"([a-z_\-]+)","#, in: list)
            keys.formUnion(pairs.isEmpty ? try matches(#""([a-z_\-]+)""#, in: list) : pairs)
        }
        return keys
    }

    @Test("every metadata key that a reader uses is in the table of docs/model-json.md")
    func everyKeyThatIsReadIsInTheTable() throws {
        let words = try Set(
            Self.table().split(separator: "\n").flatMap { row in
                try Self.matches(
                    "`([^`]+)`",
                    in: row.split(separator: "|", omittingEmptySubsequences: false).prefix(3).joined(separator: "|"))
            })
        var count = 0
        for (file, text) in try Self.sources("Sources/ModelFacts/Readers") {
            let keys = try Self.keys(in: text)
            count += keys.count
            #expect(keys.subtracting(words).sorted() == [], "read by \(file), not in the table")
        }
        #expect(count > 80, "found only \(count) keys: has the form of the readers changed?")
    }

    @Test("every key in the table of docs/model-json.md is in the code of the readers")
    func everyKeyOfTheTableIsRead() throws {
        let rows = try Self.table().split(separator: "\n").dropFirst(2)
        let readers = ["ModelFacts", "EngineAPI", "EngineImporters", "Bundles"]
        let code = try readers.flatMap { try Self.sources("Sources/" + $0) }.map(\.text).joined()
        var unread: [String] = []
        for row in rows {
            let cells = row.split(separator: "|", omittingEmptySubsequences: false)
            for word in try Self.matches("`([^`]+)`", in: String(cells[2])) {
                // Patterns of names are compared by their beginning or end.
                let literal = word.hasPrefix("…") ? word.dropFirst() : word.hasSuffix("…") ? word.dropLast() : word[...]
                let family = literal.replacing("ForObjectDetection", with: "")
                if !code.contains("\"\(literal)\"") && !code.contains("\"\(family)\"") && !code.contains("\(literal)\"")
                {
                    unread.append(word)
                }
            }
        }
        #expect(unread == [], "in the table, but no reader has them")
    }
}
