package import FileFormats
internal import JSON

/// Reads dictionaries of recognizers of text: the text of a class in each line. Blanks belong to the texts.
package enum TextDictionary {
    /// The maximum number of entries, and of UTF-8 bytes of one.
    static let maximum = 1 << 18, maximumEntry = 256

    /// - Parameter bytes: a dictionary file, or the value of the metadata key `character` of an ONNX file.
    package static func read(_ bytes: [UInt8]) throws(FormatError) -> [String] {
        guard let text = String(validating: bytes, as: UTF8.self)?.withoutByteOrderMark else {
            throw FormatError("is not UTF-8 text")
        }
        // Bytes, not characters: a carriage return and a line feed are one character, and a combining mark may follow
        // a line feed.
        var lines = text.utf8.split(separator: 10, omittingEmptySubsequences: false).map { line in
            String(decoding: line.last == 13 ? line.dropLast() : line, as: UTF8.self)
        }
        if lines.last == "" { lines.removeLast() }
        return try checked(lines)
    }

    /// - Throws: if there are no entries or too many, or one is too long.
    package static func checked(_ entries: [String]) throws(FormatError) -> [String] {
        guard !entries.isEmpty else { throw FormatError("has no entries") }
        guard entries.count <= maximum else {
            throw FormatError("has \(entries.count) entries: the limit is \(maximum)")
        }
        if let long = entries.firstIndex(where: { $0.utf8.count > maximumEntry }) {
            throw FormatError(
                "line \(long + 1) has \(entries[long].utf8.count) bytes: the limit of an entry is \(maximumEntry)")
        }
        return entries
    }
}
