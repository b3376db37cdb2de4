/// Entity tags (RFC 9110 section 8.8.3).
public enum EntityTag {
    /// True if an `If-None-Match` contains a tag, by weak comparison (section 13.1.2): the client has the content
    /// already.
    /// - Parameters:
    ///   - values: the values of the field; `*` matches any tag. A malformed list matches nothing.
    ///   - tag: the tag of the content, in quotes, with or without `W/`.
    public static func matches(_ values: [String], _ tag: String) -> Bool {
        let expectedTag = opaque(tag[...])
        return values.contains { value in
            var rest = value[...].drop { $0 == " " || $0 == "\t" }
            if rest == "*" { return true }
            while !rest.isEmpty {
                guard let (found, next) = first(of: rest) else { return false }
                if found == expectedTag { return true }
                rest = next.drop { $0 == " " || $0 == "\t" || $0 == "," }
            }
            return false
        }
    }

    private static func opaque(_ tag: Substring) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag }

    /// The first tag of a list, without `W/`, and the rest of the list; nil if it does not begin with a tag. A tag may
    /// contain commas.
    private static func first(of text: Substring) -> (tag: Substring, rest: Substring)? {
        let text = opaque(text)
        guard text.first == "\"", let end = text.dropFirst().firstIndex(of: "\"") else { return nil }
        let next = text.index(after: end)
        return (text[..<next], text[next...])
    }
}
