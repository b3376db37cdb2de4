/// A pattern for paths: `*` stands for any characters, `?` for one.
package struct PathPattern: Sendable, Equatable {
    package let text: String

    package init(_ text: String) { self.text = text }

    /// True if the pattern fits a path, or, without a slash, the path's last name. A slash at its end does not count.
    package func fits(_ path: String) -> Bool {
        let pattern = text.hasSuffix("/") ? String(text.dropLast()) : text
        return Self.fits(Array(pattern.unicodeScalars), Array(path.unicodeScalars))
            || !pattern.contains("/")
                && Self.fits(Array(pattern.unicodeScalars), Array(HubPath.name(of: path).unicodeScalars))
    }

    /// Goes back to the last `*` only: the time is at most the product of the lengths.
    private static func fits(_ pattern: [Unicode.Scalar], _ text: [Unicode.Scalar]) -> Bool {
        var place = 0, read = 0
        var star: (place: Int, read: Int)?
        while read < text.count {
            if place < pattern.count, pattern[place] == "*" {
                star = (place, read)
                place += 1
            } else if place < pattern.count, pattern[place] == "?" || pattern[place] == text[read] {
                place += 1
                read += 1
            } else if let last = star {
                star = (last.place, last.read + 1)
                (place, read) = (last.place + 1, last.read + 1)
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == "*" }
    }
}
