internal import JSON
internal import ModelFacts
internal import SystemSupport

/// The expected answers for pictures: a CSV file, with or without a heading, or JSON lines.
struct ExpectationFile {
    struct Row: Sendable {
        let line: Int
        let picture: String
        /// The expected class; nil if only the tensor is compared.
        let expected: Class?
        let probabilities: Probabilities?
        /// A file with the tensor that the original made from the picture.
        let tensor: String?
    }

    /// The class that the original found.
    enum Class: Sendable, Hashable {
        case index(Int)
        /// A label, or the index of a class if no label has this text.
        case label(String)
    }

    /// The probabilities of the original.
    enum Probabilities: Sendable, Hashable {
        /// The probability of the expected class.
        case expected(Double)
        /// The probabilities of all classes, in order.
        case all([Double])
        /// The probabilities by label.
        case labels([String: Double])
    }

    let rows: [Row]

    private static let maximumBytes = 64 << 20, maximumRows = 1_000_000
    private static let pictureNames = ["picture", "image", "file", "filename", "path"]
    private static let labelNames = ["label", "expected", "class", "category", "class_name"]
    private static let indexNames = ["index", "class_index", "class_id"]
    private static let confidenceNames = ["confidence", "probability", "score"]
    private static let probabilityNames = ["probabilities", "confidences", "scores"]
    private static let tensorNames = ["tensor", "npy"]

    /// The values of a line by name.
    private struct Members {
        /// True for a line of `ocelli classify --jsonl` with an error, which expects nothing.
        var isError = false
        var texts: [String: String] = [:]
        var lists: [String: [Double]] = [:]
        var tables: [String: [String: Double]] = [:]
    }

    /// - Throws: a sentence with the number of the wrong line.
    init(path: String) throws(CommandError) {
        let bytes = try InputFile.read(path, maximum: Self.maximumBytes)
        guard let text = String(validating: bytes, as: UTF8.self)?.withoutByteOrderMark else {
            throw CommandError("is not UTF-8 text")
        }
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
        guard lines.count <= Self.maximumRows else {
            throw CommandError("has \(lines.count) lines: the limit is \(Self.maximumRows)")
        }
        let first = lines.first { !$0.allSatisfy(\.isWhitespace) } ?? ""
        let isJSON = first.first { !$0.isWhitespace } == "{"
        let delimiter = CSVLine.delimiter(of: first)
        var rows: [Row] = []
        var heading: [String]?
        for (index, line) in lines.enumerated() where !line.allSatisfy(\.isWhitespace) {
            if isJSON {
                let members = try Self.members(ofJSON: line, index + 1)
                if !members.isError { rows.append(try Self.row(members, index + 1)) }
                continue
            }
            guard let fields = CSVLine.fields(line, delimiter: delimiter) else {
                throw CommandError("line \(index + 1): unterminated quote")
            }
            guard let names = heading else {
                let lower = fields.map { $0.lowercased() }
                if lower.contains(where: Self.pictureNames.contains) {
                    heading = lower
                    continue
                }
                let usual = try Self.usualHeading(fields, line)
                heading = usual
                rows.append(try Self.row(Self.members(usual, fields), index + 1))
                continue
            }
            guard fields.count == names.count else {
                throw CommandError("line \(index + 1): expected \(names.count) values, found \(fields.count)")
            }
            rows.append(try Self.row(Self.members(names, fields), index + 1))
        }
        guard !rows.isEmpty else { throw CommandError("has no rows") }
        self.rows = rows
    }

    /// The columns of a file without a heading: a picture, its class, and then a confidence or a tensor.
    private static func usualHeading(_ fields: [String], _ line: String) throws(CommandError) -> [String] {
        var heading = ["picture", "label"]
        for field in fields.dropFirst(2) {
            let name = Double(field) != nil ? "confidence" : field.hasSuffix(".npy") ? "tensor" : ""
            guard !name.isEmpty, !heading.contains(name) else { break }
            heading.append(name)
        }
        // A heading of other words does not begin with a file name.
        guard fields.count >= 2, heading.count == fields.count, fields[0].contains(".") else {
            throw CommandError(
                "line 1: expected a heading with \"picture\" and \"label\" (and \"confidence\", \"tensor\"), or a picture's file and its label, found \"\(line.prefix(60))\""
            )
        }
        return heading
    }

    private static func members(_ names: [String], _ fields: [String]) -> Members {
        var members = Members()
        members.texts = Dictionary(zip(names, fields), uniquingKeysWith: { first, _ in first })
        return members
    }

    private static func members(ofJSON line: String, _ number: Int) throws(CommandError) -> Members {
        var found = Members()
        let result = line.withUTF8Copy { bytes -> Result<Members, JSONError> in
            var scanner = JSONScanner(bytes, subject: "it")
            return Result { () throws(JSONError) in
                try scanner.object { (name, scanner) throws(JSONError) in
                    let name = name.lowercased()
                    switch try scanner.kind() {
                    case .array where name == "classifications": try Self.takeFirst(of: &scanner, into: &found)
                    case .string: found.texts[name] = try scanner.string()
                    case .number:
                        let number = try scanner.number()
                        if let integer = number.integer(Int.self, in: scanner.text) {
                            found.texts[name] = String(integer)
                        } else if let value = number.double(in: scanner.text) {
                            found.texts[name] = String(value)
                        }
                    case .array where probabilityNames.contains(name):
                        var values: [Double] = []
                        try scanner.array { (_, scanner) throws(JSONError) in
                            let number = try scanner.number()
                            values.append(number.double(in: scanner.text) ?? .nan)
                        }
                        found.lists[name] = values
                    case .object where probabilityNames.contains(name):
                        var values: [String: Double] = [:]
                        try scanner.object { (label, scanner) throws(JSONError) in
                            let number = try scanner.number()
                            values[label] = number.double(in: scanner.text) ?? .nan
                        }
                        found.tables[name] = values
                    default: try scanner.skip()
                    }
                }
                try scanner.end()
                found.isError = found.texts["error"] != nil && found.texts["code"] != nil
                return found
            }
        }
        switch result {
        case .success(let members): return members
        case .failure(let error): throw CommandError("line \(number): \(error.message)")
        }
    }

    /// Takes the first class of an answer of `ocelli classify` as the expected one.
    private static func takeFirst(of scanner: inout JSONScanner, into found: inout Members) throws(JSONError) {
        var texts = found.texts
        try scanner.array { (index, scanner) throws(JSONError) in
            guard index == 0 else { return try scanner.skip() }
            try scanner.object { (name, scanner) throws(JSONError) in
                switch (name, try scanner.kind()) {
                case ("label", .string): texts["label"] = try scanner.string()
                case ("confidence", .number):
                    let number = try scanner.number()
                    if let value = number.double(in: scanner.text) { texts["confidence"] = String(value) }
                default: try scanner.skip()
                }
            }
        }
        found.texts = texts
    }

    private static func row(_ members: Members, _ line: Int) throws(CommandError) -> Row {
        func first(_ names: [String]) -> String? { names.lazy.compactMap { members.texts[$0] }.first { !$0.isEmpty } }
        guard let picture = first(pictureNames) else { throw CommandError("line \(line): has no \"picture\"") }
        let tensor = first(tensorNames)
        var expected: Class?
        if let text = first(indexNames) {
            guard let index = Int(text), index >= 0 else {
                throw CommandError("line \(line): index: expected the number of a class, found \"\(text.prefix(60))\"")
            }
            expected = .index(index)
        } else if let text = first(labelNames) {
            expected = .label(text)
        } else if tensor == nil {
            throw CommandError("line \(line): has no \"label\"")
        }
        let names = probabilityNames
        let probabilities: Probabilities?
        if let list = names.lazy.compactMap({ members.lists[$0] }).first {
            probabilities = .all(list)
        } else if let table = names.lazy.compactMap({ members.tables[$0] }).first {
            probabilities = .labels(table)
        } else if let text = first(confidenceNames) {
            guard let number = Double(text), (0...1).contains(number) else {
                throw CommandError("line \(line): confidence: expected a number from 0 to 1, found \"\(text)\"")
            }
            probabilities = .expected(number)
        } else {
            probabilities = nil
        }
        return Row(line: line, picture: picture, expected: expected, probabilities: probabilities, tensor: tensor)
    }
}

extension String {
    /// Calls `body` with the text's bytes.
    fileprivate func withUTF8Copy<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        Array(utf8).withUnsafeBytes(body)
    }
}
