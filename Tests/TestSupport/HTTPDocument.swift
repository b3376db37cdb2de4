internal import Foundation

/// docs/http-api.md: its tables and its examples.
public struct HTTPDocument {
    /// The document.
    public let text: String

    /// Reads the document.
    public init() throws {
        text = try String(
            contentsOf: SharedData.packageRoot.appendingPathComponent("docs/http-api.md"), encoding: .utf8)
    }

    /// The cells of the tables' rows, without the headings.
    public var rows: [[String]] {
        text.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// The pieces of inline code in a cell.
    public static func code(in cell: String) -> [String] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
            .map { String($0.element) }
    }

    /// `$ COMMAND    # STATUS CODE`
    public struct Example {
        /// The command, with `localhost:8080`.
        public let command: String
        /// The status of the answer.
        public let status: Int
        /// The error's code, if the answer is an error.
        public let code: String
        /// True if the daemon has tokens.
        public var needsTokens: Bool { status == 401 }
        /// The JSON after the last example, which shows its answer.
        public var shape: Any?
    }

    /// The commands that show their answers. Throws if the JSON of an answer is malformed.
    public func examples() throws -> [Example] {
        var examples: [Example] = []
        var block: [Substring]?
        // JSON shows the answer of the example before it, in the same section.
        var section = 0
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line == "```json" {
                block = []
            } else if line == "```", let json = block {
                let shape = try JSONSerialization.jsonObject(with: Data(json.joined(separator: "\n").utf8))
                if examples.count > section, let last = examples.indices.last, examples[last].shape == nil,
                    examples[last].status == 200
                {
                    examples[last].shape = shape
                }
                block = nil
            } else if block != nil {
                block?.append(line)
            } else if line.hasPrefix("## ") {
                section = examples.count
            } else if line.hasPrefix("$ "), let hash = line.range(of: "# ", options: .backwards) {
                let words = line[hash.upperBound...].split(separator: " ")
                examples.append(
                    Example(
                        command: String(line[..<hash.lowerBound].dropFirst(2)), status: Int(words.first ?? "") ?? 0,
                        code: words.count > 1 ? String(words[1]) : ""))
            }
        }
        return examples
    }
}
