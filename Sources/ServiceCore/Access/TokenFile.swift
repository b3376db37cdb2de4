internal import FoundationEssentials
internal import Glibc
internal import JSON
package import ServicePlanning
internal import SystemSupport

/// Bearer tokens, and the routes that each grants. The format of the file:
///
/// ```
/// # a comment, such as the holder of the token
/// infer,read 0f8fad5b-d9cb-469f-a165-70867728950e
/// all        a-longer-secret-of-the-operator
/// ```
package struct TokenFile: Sendable {
    /// A token and its classes.
    package struct Entry: Sendable {
        package let token: [UInt8]
        package let classes: Set<AccessClass>
    }

    package let entries: [Entry]
    /// All errors of the file, each with its line. They never contain a token.
    package let problems: [String]
    /// Warnings for the operator about a valid file.
    package let warnings: [String]

    /// Parses a text; `name` is its name in messages.
    package init(text: String, name: String) {
        var entries: [Entry] = []
        var problems: [String] = []
        let text = text.withoutByteOrderMark
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "\r" })
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            let place = "\(name), line \(index + 1)"
            guard words.count == 2 else {
                problems.append("\(place): expected classes, a space and a token, found \(words.count) words")
                continue
            }
            let token = Array(words[1].utf8)
            // The characters of RFC 6750's b64token and a few more; others could not be sent.
            guard token.count >= 16, token.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x2C }) else {
                problems.append("\(place): expected a token of at least 16 characters without quotes and commas")
                continue
            }
            var classes: Set<AccessClass> = []
            for word in first.split(separator: ",") {
                if word == "all" {
                    classes.formUnion(AccessClass.allCases)
                } else if let known = AccessClass(rawValue: String(word)) {
                    classes.insert(known)
                } else {
                    problems.append(
                        "\(place): \"\(word.prefix(20))\" is not a class: expected infer, read, admin, teach or all")
                }
            }
            entries.append(Entry(token: token, classes: classes))
        }
        if entries.isEmpty, problems.isEmpty {
            problems.append("\(name): contains no token: every request would be refused")
        }
        self.entries = entries
        self.problems = problems
        warnings = []
    }

    /// Reads and parses a file. Blocks.
    package init(path: String) {
        let name = "the tokens file"
        guard let data = FileManager.default.contents(atPath: path) else {
            entries = []
            problems = ["\(name) \(path) (tokens_file) cannot be read: \(UnreadableFile.reason(path))"]
            warnings = []
            return
        }
        let read = TokenFile(text: String(decoding: data, as: UTF8.self), name: name)
        entries = read.entries
        problems = read.problems
        var status = stat()
        let isOpen = stat(path, &status) == 0 && status.st_mode & 0o007 != 0
        warnings = isOpen ? ["\(name) is readable by every user of this machine: run chmod 640 on it"] : []
    }
}
