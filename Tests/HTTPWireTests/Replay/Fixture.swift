import HTTPWire

/// A case in the Markdown files of `Fixtures`. The README there describes the format.
struct Fixture: Sendable, CustomStringConvertible {
    enum Kind: Sendable {
        case connection
        case multipart(boundary: [UInt8])
    }

    var title: String
    var line: Int
    var rfc = ""
    var kind = Kind.connection
    var limits = WireLimits()
    var input: [UInt8]?
    var events: [[UInt8]]?

    var description: String { "\(title) (line \(line))" }

    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads all cases of a file.
    static func read(_ markdown: String) throws -> [Fixture] {
        var cases: [Fixture] = []
        var block: String?
        var lines: [Substring] = []
        for (number, line) in markdown.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if let info = block {
                if line == "```" {
                    guard !cases.isEmpty else {
                        throw Malformed(description: "line \(number + 1): a block before any case")
                    }
                    try cases[cases.count - 1].take(info, lines)
                    block = nil
                } else {
                    lines.append(line)
                }
            } else if line.hasPrefix("```") {
                block = String(line.dropFirst(3))
                lines = []
            } else if line.hasPrefix("## ") {
                cases.append(Fixture(title: String(line.dropFirst(3)), line: number + 1))
            } else if !cases.isEmpty {
                try cases[cases.count - 1].takeLine(line)
            }
        }
        return cases
    }

    private mutating func takeLine(_ line: Substring) throws {
        if line.hasPrefix("RFC ") { rfc = String(line) }
        guard line.hasPrefix("limits: ") else { return }
        for pair in line.dropFirst(8).split(separator: ",") {
            let words = pair.split(separator: "=").map { $0.filter { $0 != " " } }
            guard words.count == 2, let key = Self.limitKeys[words[0]], let number = Int(words[1]) else {
                throw Malformed(description: "\(self): no limit: \(pair)")
            }
            limits[keyPath: key] = number
        }
    }

    private mutating func take(_ info: String, _ lines: [Substring]) throws {
        let text = try lines.map { try FixtureText.bytes($0) }
        if info == "events" {
            events = text.map(\.bytes)
            return
        }
        if info.hasPrefix("multipart boundary=") {
            kind = .multipart(boundary: Array(info.dropFirst(19).utf8))
        } else if info != "http" {
            throw Malformed(description: "\(self): no such block: \(info)")
        }
        input = text.flatMap { $0.bytes + ($0.isOpen ? [] : [0x0D, 0x0A]) }
    }

    // A function of computed keys, because key paths are not Sendable.
    private static var limitKeys: [String: WritableKeyPath<WireLimits, Int>] {
        [
            "requestLineBytes": \.requestLineBytes, "headerBytes": \.headerBytes, "fieldCount": \.fieldCount,
            "methodBytes": \.methodBytes, "chunkExtensionBytes": \.chunkExtensionBytes,
            "trailerBytes": \.trailerBytes, "multipartParts": \.multipartParts,
            "multipartHeaderBytes": \.multipartHeaderBytes, "multipartHeaderCount": \.multipartHeaderCount,
        ]
    }
}
