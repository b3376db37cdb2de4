internal import FileFormats

/// Reads labels from lines of values: `0,cat`, `cat,0`, `n01440764,tench`, or names only, with or without a heading.
enum CSVLabels {
    private static let nameWords = [
        "label", "name", "class", "class_name", "classname", "display_name", "category", "labels", "names", "classes",
        "description", "label_name",
    ]

    static func read(_ lines: [String], delimiter: UInt8) throws(FormatError) -> [String] {
        var rows: [[String]] = []
        for (index, line) in lines.enumerated() {
            guard let row = CSVLine.fields(line, delimiter: delimiter) else {
                throw FormatError("line \(index + 1): unterminated quote")
            }
            rows.append(row)
        }
        let width = rows[0].count
        guard width <= 64 else { throw FormatError("line 1: has \(width) values: the limit is 64") }
        if let odd = rows.firstIndex(where: { $0.count != width }) {
            throw FormatError("line \(odd + 1): expected \(width) values, as in the first line")
        }
        let words = rows[0].map { $0.lowercased() }
        // The first line is a heading if none of its values is a number, and either the next line has a number or it
        // has a heading's words.
        let hasHeading =
            rows.count > 1 && !rows[0].contains { Int($0) != nil }
            && (rows[1].contains { Int($0) != nil } || words.contains { nameWords.contains($0) })
        if hasHeading { rows.removeFirst() }
        let heading = hasHeading ? words : []
        if width == 1 { return try LabelLines.names(rows.map { $0[0] }) }
        // The column with the class numbers.
        let numbers = rows[0].indices.filter { column in
            let values = rows.compactMap { Int($0[column]) }
            return values.count == rows.count && NumberedLabels.areClasses(values)
        }
        let number = numbers.first { heading.isEmpty || !nameWords.contains(heading[$0]) } ?? numbers.first
        func isName(_ column: Int) -> Bool {
            column != number && !rows.allSatisfy { LabelLines.isSynset($0[column]) }
        }
        // Without numbers the order of the lines counts, if it is clear which column has the names.
        let clear = rows[0].indices.filter(isName)
        let named = nameWords.lazy.compactMap { word in heading.firstIndex(of: word) }.first(where: isName)
        let column: Int?
        if let number {
            column = named ?? rows[0].indices.last { $0 != number && isName($0) }
        } else {
            column = named ?? (clear.count == 1 ? clear.first : nil)
        }
        guard let column else {
            throw FormatError(
                number == nil
                    ? "has no column with the numbers 0 to \(rows.count - 1), and no heading that tells which one has the names"
                    : "has no column with names")
        }
        guard let number else { return rows.map { $0[column] } }
        return try NumberedLabels.names(
            rows.compactMap { row in Int(row[number]).map { (number: $0, name: row[column]) } })
    }
}

/// One line of comma-separated values (RFC 4180).
package enum CSVLine {
    /// The delimiter of a line with unquoted delimiters: a comma, otherwise a tab or semicolon.
    package static func delimiter(of line: String) -> UInt8 {
        [UInt8(ascii: ","), 0x09, UInt8(ascii: ";")].first(where: line.utf8.contains) ?? UInt8(ascii: ",")
    }

    /// The fields of a line; nil if a quote is not terminated.
    package static func fields(_ line: String, delimiter: UInt8 = UInt8(ascii: ",")) -> [String]? {
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
            } else if byte == delimiter {
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
