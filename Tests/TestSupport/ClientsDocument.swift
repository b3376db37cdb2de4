internal import Foundation

/// docs/clients.md: the lines of its table of requests.
public struct ClientsDocument {
    /// A line of the table: a request and its answer.
    public struct Line {
        /// The cell that names the routes.
        public let asks: String
        /// The command, with `localhost:8080`.
        public let command: String
        /// The status of the answer.
        public let status: Int
        /// The words that the answer has.
        public let words: String
    }

    /// The lines that have a curl command.
    public let lines: [Line]
    /// The document.
    public let text: String

    /// Reads the document.
    public init() throws {
        text = try String(
            contentsOf: SharedData.packageRoot.appendingPathComponent("docs/clients.md"), encoding: .utf8)
        lines = text.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 6, cells[3].hasPrefix("`curl "), let status = Int(cells[4].prefix(3)) else {
                return nil
            }
            let words = cells[4].dropFirst(3).trimmingCharacters(in: CharacterSet(charactersIn: " `"))
            return Line(
                asks: cells[2], command: cells[3].trimmingCharacters(in: CharacterSet(charactersIn: "`")),
                status: status,
                words: words)
        }
    }
}
