internal import Foundation

/// docs/clients.md: the lines of its table of requests.
public struct ClientsDocument {
    public struct Line {
        /// The cell that names the routes.
        public let asks: String
        public let command: String
        public let status: Int
        /// The words that the answer has.
        public let words: String
    }

    public let lines: [Line]
    public let text: String

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
