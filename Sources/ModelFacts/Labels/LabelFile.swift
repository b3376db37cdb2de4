internal import JSON

/// Reads files of labels: a name a line, WordNet's `n01440764 tench, Tinca tinca`, CSV, JSON.
package enum LabelFile {
    package static let mostBytes = 64 << 20

    /// The names that such files usually have, the likeliest first.
    package static func isUsual(_ name: String) -> Bool { rank(name) != nil }

    /// How likely a file of a name holds the labels: 0 first; nil for one that does not.
    package static func rank(_ name: String) -> Int? {
        let lower = name.lowercased()
        let usual = [
            "labels.txt", "label.txt", "classes.txt", "class_names.txt", "labelmap.txt", "labels.json", "classes.json",
            "id2label.json", "class_names.json", "label_map.json", "imagenet_classes.txt", "imagenet_labels.txt",
            "imagenet_class_index.json", "imagenet_slim_labels.txt", "synset_words.txt", "synset.txt", "labels.csv",
            "classes.csv", "class_map.csv", "categories.txt",
        ]
        if let place = usual.firstIndex(of: lower) { return place }
        return lower.hasSuffix(".labels") || lower.hasSuffix(".names") || lower.hasSuffix("_labels.txt")
            || lower.hasSuffix("_classes.txt") || lower.hasSuffix("-labels.txt") ? usual.count : nil
    }

    /// - Parameter name: the file's, whose ending tells the form.
    package static func read(_ bytes: [UInt8], name: String) throws(FactError) -> [String] {
        guard bytes.count <= mostBytes else {
            throw FactError("has \(bytes.count) bytes: at most \(mostBytes) are read")
        }
        let lower = name.lowercased()
        if lower.hasSuffix(".json") { return try json(bytes) }
        guard let text = String(validating: bytes, as: UTF8.self)?.withoutByteOrderMark else {
            throw FactError("is not UTF-8 text")
        }
        var lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }.map(
            String.init)
        // Empty lines at the end are not labels.
        while lines.last?.trimmed == "" { lines.removeLast() }
        guard !lines.isEmpty else { throw FactError("has no names") }
        guard lines.count <= LabelTable.mostLabels else {
            throw FactError("has \(lines.count) names: at most \(LabelTable.mostLabels) are read")
        }
        if lower.hasSuffix(".csv") { return try CSVLabels.read(lines) }
        return withoutNumbers(lines)
    }

    private static func json(_ bytes: [UInt8]) throws(FactError) -> [String] {
        var value = try JSONTree.read(bytes)
        if case .object(let members) = value {
            // A whole configuration, or one list under its own name.
            for key in ["id2label", "labels", "classes", "names", "class_names"] {
                if let inner = members[key] {
                    switch inner {
                    case .array, .object: value = inner
                    default: continue
                    }
                    break
                }
            }
        }
        return try LabelTable.read(value)
    }

    /// Where every line begins with WordNet's number, or with its own number, that is not part of the name.
    private static func withoutNumbers(_ lines: [String]) -> [String] {
        let parts = lines.map { $0.split(maxSplits: 1) { $0 == " " || $0 == "\t" }.map(String.init) }
        func isSynset(_ word: String) -> Bool {
            word.utf8.count == 9 && word.hasPrefix("n") && word.utf8.dropFirst().allSatisfy { (48...57).contains($0) }
        }
        if parts.allSatisfy({ $0.count == 2 && isSynset($0[0]) }) { return parts.map { $0[1].trimmed } }
        func number(_ word: String) -> Int? { Int(word.last == ":" ? String(word.dropLast()) : word) }
        for start in [0, 1] where lines.count > 1 {
            if parts.indices.allSatisfy({ parts[$0].count == 2 && number(parts[$0][0]) == $0 + start }) {
                return parts.map { $0[1].trimmed }
            }
        }
        return lines
    }
}

/// Labels in comma-separated lines: `0,cat`, `cat,0`, or the names alone, with a heading or without.
private enum CSVLabels {
    static func read(_ lines: [String]) throws(FactError) -> [String] {
        var rows: [[String]] = []
        for (index, line) in lines.enumerated() {
            guard let row = CSVLine.fields(line) else { throw FactError("line \(index + 1): unterminated quote") }
            rows.append(row)
        }
        let width = rows[0].count
        guard width <= 64, let odd = rows.firstIndex(where: { $0.count != width }).map({ $0 + 1 }) ?? Optional(0),
            odd == 0
        else {
            let odd = (rows.firstIndex { $0.count != width } ?? 0) + 1
            throw FactError("line \(odd): expected \(width) values, as in the first line")
        }
        if width == 1 { return rows.map { $0[0] } }
        // The first line is a heading where no value of it is a number and another line has one.
        let hasHeading = rows.count > 1 && !rows[0].contains { Int($0) != nil } && rows[1].contains { Int($0) != nil }
        let heading = hasHeading ? rows.removeFirst().map { $0.lowercased() } : []
        let numbers = rows[0].indices.filter { column in
            let values = rows.compactMap { Int($0[column]) }
            return values.count == rows.count && Set(values) == Set(0..<rows.count)
        }
        guard let number = numbers.first else {
            throw FactError("has no column with the numbers 0 to \(rows.count - 1)")
        }
        let named = ["label", "name", "class", "class_name", "display_name", "description"]
        let column =
            heading.indices.first { $0 != number && named.contains(heading[$0]) }
            ?? rows[0].indices.last { $0 != number }
        guard let column else { throw FactError("has no column with names") }
        var labels = [String](repeating: "", count: rows.count)
        for row in rows {
            // The numbers are those of the rows, each once.
            if let place = Int(row[number]), labels.indices.contains(place) { labels[place] = row[column] }
        }
        return labels
    }
}

/// One line of comma-separated values (RFC 4180).
package enum CSVLine {
    /// Nil if unterminated quote.
    package static func fields(_ line: String) -> [String]? {
        var fields: [String] = []
        var field: [UInt8] = []
        var isQuoted = false
        let bytes = Array(line.utf8)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if isQuoted {
                if byte == UInt8(ascii: "\"") {
                    if index + 1 < bytes.count, bytes[index + 1] == byte {
                        field.append(byte)
                        index += 1
                    } else {
                        isQuoted = false
                    }
                } else {
                    field.append(byte)
                }
            } else if byte == UInt8(ascii: "\""), field.allSatisfy({ $0 == 0x20 }) {
                field = []
                isQuoted = true
            } else if byte == UInt8(ascii: ",") {
                fields.append(String(decoding: field, as: UTF8.self).trimmed)
                field = []
            } else {
                field.append(byte)
            }
            index += 1
        }
        guard !isQuoted else { return nil }
        return fields + [String(decoding: field, as: UTF8.self).trimmed]
    }
}
