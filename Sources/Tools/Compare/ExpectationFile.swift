internal import InferenceService
internal import JSON
internal import ModelFacts

/// What is expected of pictures: a CSV file with a heading, or JSON lines.
struct ExpectationFile {
    struct Row: Sendable {
        let line: Int
        let picture: String
        /// A label, or a class by its number.
        let expected: String
        /// The confidence of it in the original, where the file has one.
        let confidence: Double?
        /// A file with the tensor that the original made of the picture.
        let tensor: String?
    }

    let rows: [Row]

    private static let mostBytes = 64 << 20, mostRows = 1_000_000
    private static let pictureNames = ["picture", "image", "file", "filename", "path"]
    private static let labelNames = [
        "label", "expected", "class", "category", "class_name", "index", "class_index", "class_id",
    ]
    private static let confidenceNames = ["confidence", "probability", "score"]
    private static let tensorNames = ["tensor", "npy"]

    /// - Throws: a sentence with the line that is wrong.
    init(path: String) throws(StartupError) {
        let bytes = try InputFile.read(path, most: Self.mostBytes)
        guard let text = String(validating: bytes, as: UTF8.self)?.withoutByteOrderMark else {
            throw StartupError("is not UTF-8 text")
        }
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
        guard lines.count <= Self.mostRows else {
            throw StartupError("has \(lines.count) lines: at most \(Self.mostRows) are read")
        }
        let isJSON = lines.first { !$0.allSatisfy(\.isWhitespace) }?.first { !$0.isWhitespace } == "{"
        var rows: [Row] = []
        var heading: [String]?
        for (index, line) in lines.enumerated() where !line.allSatisfy(\.isWhitespace) {
            let members: [String: String]
            if isJSON {
                members = try Self.members(ofJSON: line, index + 1)
            } else {
                guard let fields = CSVLine.fields(line) else {
                    throw StartupError("line \(index + 1): unterminated quote")
                }
                guard let heading else {
                    let names = fields.map { $0.lowercased() }
                    guard names.contains(where: Self.pictureNames.contains) else {
                        throw StartupError(
                            "line 1: expected a heading with \"picture\" and \"label\" (and \"confidence\", \"tensor\"), found \"\(line.prefix(60))\""
                        )
                    }
                    heading = names
                    continue
                }
                guard fields.count == heading.count else {
                    throw StartupError("line \(index + 1): expected \(heading.count) values, found \(fields.count)")
                }
                members = Dictionary(zip(heading, fields), uniquingKeysWith: { first, _ in first })
            }
            rows.append(try Self.row(members, index + 1))
        }
        guard !rows.isEmpty else { throw StartupError("has no rows") }
        self.rows = rows
    }

    private static func members(ofJSON line: String, _ number: Int) throws(StartupError) -> [String: String] {
        var found: [String: String] = [:]
        let result = line.withUTF8Copy { bytes -> Result<[String: String], JSONError> in
            var scanner = JSONScanner(bytes, subject: "it")
            do throws(JSONError) {
                try scanner.object { (name, scanner) throws(JSONError) in
                    switch try scanner.kind() {
                    case .string: found[name.lowercased()] = try scanner.string()
                    case .number:
                        let number = try scanner.number()
                        if let integer = number.integer(Int.self, in: scanner.text) {
                            found[name.lowercased()] = String(integer)
                        } else if let value = number.double(in: scanner.text) {
                            found[name.lowercased()] = String(value)
                        }
                    default: try scanner.skip()
                    }
                }
                try scanner.end()
                return .success(found)
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case .success(let members): return members
        case .failure(let error): throw StartupError("line \(number): \(error.message)")
        }
    }

    private static func row(_ members: [String: String], _ line: Int) throws(StartupError) -> Row {
        func first(_ names: [String]) -> String? { names.lazy.compactMap { members[$0] }.first { !$0.isEmpty } }
        guard let picture = first(pictureNames) else { throw StartupError("line \(line): has no \"picture\"") }
        guard let expected = first(labelNames) else { throw StartupError("line \(line): has no \"label\"") }
        var confidence: Double?
        if let text = first(confidenceNames) {
            guard let number = Double(text), (0...1).contains(number) else {
                throw StartupError("line \(line): confidence: expected a number from 0 to 1, found \"\(text)\"")
            }
            confidence = number
        }
        return Row(line: line, picture: picture, expected: expected, confidence: confidence, tensor: first(tensorNames))
    }
}

extension String {
    /// The text's bytes, lent out.
    fileprivate func withUTF8Copy<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        Array(utf8).withUnsafeBytes(body)
    }
}
