/// Entity tags (RFC 9110 section 8.8.3).
public enum EntityTag {
    /// True if an `If-None-Match` names a tag, by the weak comparison (section 13.1.2): the client has this content
    /// already.
    /// - Parameters:
    ///   - values: the field's values; `*` stands for any tag. What is no list of tags matches nothing.
    ///   - tag: the content's, with its quotes, `W/` before them or not.
    public static func matches(_ values: [String], _ tag: String) -> Bool {
        let wanted = opaque(tag[...])
        return values.contains { value in
            var rest = value[...].drop { $0 == " " || $0 == "\t" }
            if rest == "*" { return true }
            while !rest.isEmpty {
                guard let (found, next) = first(of: rest) else { return false }
                if found == wanted { return true }
                rest = next.drop { $0 == " " || $0 == "\t" || $0 == "," }
            }
            return false
        }
    }

    private static func opaque(_ tag: Substring) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag }

    /// The first tag of a list, without `W/`, and what is behind it; nil if there is none. A comma may be part of a
    /// tag.
    private static func first(of text: Substring) -> (tag: Substring, rest: Substring)? {
        let text = opaque(text)
        guard text.first == "\"", let end = text.dropFirst().firstIndex(of: "\"") else { return nil }
        let next = text.index(after: end)
        return (text[..<next], text[next...])
    }
}
