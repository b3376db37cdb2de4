internal import FileFormats
package import HTTPServer
internal import JSON
package import WireFormats

/// The bodies that Label Studio sends: of `/predict`, `/setup` and `/webhook`. Members that are not needed are skipped,
/// among them the access token of `/setup`.
package struct LabelBody: Sendable {
    /// The place of a text in a body.
    package struct Place: Sendable {
        /// The offset of the quote with which it begins.
        let start: Int
        /// The number of bytes between its quotes.
        let length: Int
    }

    /// A task: the texts of its data.
    package struct Task: Sendable {
        package var id: Int?
        var texts: [String: Place] = [:]
    }

    /// An annotation: what one person said of a task.
    package struct Annotation: Sendable, Equatable {
        package var id: Int?
        package var task: Int?
        /// True if the person skipped the task.
        package var isSkipped = false
        /// The choices by the name of their control tag.
        package var choices: [String: [String]] = [:]
    }

    package private(set) var tasks: [Task] = []
    package private(set) var annotations: [Annotation] = []
    /// The event of a webhook.
    package private(set) var action = ""
    /// The label config as text; nil if the body has none.
    private var configText: String?

    /// Reads a body.
    /// - Parameter maximum: the maximum number of tasks.
    package init(_ body: HTTPBody, maximum: Int = .max) throws(ServiceError) {
        do throws(JSONError) {
            self = try body.withUnsafeBytes { (bytes) throws(JSONError) in
                try LabelBody(bytes, maximum: maximum)
            }
        } catch {
            throw ServiceError(error)
        }
    }

    init(_ bytes: UnsafeRawBufferPointer, maximum: Int) throws(JSONError) {
        var scanner = JSONScanner(bytes)
        try scanner.object("the body") { (key, scanner) throws(JSONError) in
            switch key {
            case "tasks", "task":
                try Self.each(&scanner, key) { (index, scanner) throws(JSONError) in
                    guard index < maximum else {
                        throw .value("\"tasks\" has more than \(maximum) elements, the limit (max_batch)")
                    }
                    tasks.append(try Self.task(&scanner))
                }
            case "annotation", "annotations":
                try Self.each(&scanner, key) { (_, scanner) throws(JSONError) in
                    annotations.append(try Self.annotation(&scanner))
                }
            case "label_config", "schema":
                if try !scanner.takesNull() { configText = try scanner.string("\"\(key)\"") }
            case "action": action = try scanner.string("\"action\"")
            case "project":
                guard try scanner.kind() == .object else { return try scanner.skip() }
                try scanner.object { (key, scanner) throws(JSONError) in
                    guard key == "label_config", try scanner.kind() == .string else { return try scanner.skip() }
                    configText = try scanner.string()
                }
            default: try scanner.skip()
            }
        }
        try scanner.end()
    }

    /// The label config.
    package func config() throws(ServiceError) -> LabelConfig {
        guard let configText else {
            throw .invalidInput("\"label_config\" is missing: expected the project's label config")
        }
        do throws(FormatError) {
            return try LabelConfig(configText)
        } catch {
            throw .invalidInput("the label config \(error.reason)")
        }
    }

    // MARK: Reading

    /// Reads one value, or the elements of a list.
    private static func each(
        _ scanner: inout JSONScanner, _ name: String, _ read: (Int, inout JSONScanner) throws(JSONError) -> Void
    ) throws(JSONError) {
        guard try scanner.kind() == .array else { return try read(0, &scanner) }
        try scanner.array(read)
    }

    private static func task(_ scanner: inout JSONScanner) throws(JSONError) -> Task {
        var task = Task()
        try scanner.object("a task") { (key, scanner) throws(JSONError) in
            switch key {
            case "id": task.id = try identifier(&scanner)
            case "data":
                guard try scanner.kind() == .object else { return try scanner.skip() }
                try scanner.object { (member, scanner) throws(JSONError) in
                    guard try scanner.kind() == .string else { return try scanner.skip() }
                    let range = try scanner.rawString().range
                    task.texts[member] = Place(start: range.lowerBound - 1, length: range.count)
                }
            default: try scanner.skip()
            }
        }
        return task
    }

    private static func annotation(_ scanner: inout JSONScanner) throws(JSONError) -> Annotation {
        var annotation = Annotation()
        try scanner.object("an annotation") { (key, scanner) throws(JSONError) in
            switch key {
            case "id": annotation.id = try identifier(&scanner)
            case "task": annotation.task = try identifier(&scanner)
            case "was_cancelled":
                if try !scanner.takesNull() { annotation.isSkipped = try scanner.bool("\"was_cancelled\"") }
            case "result":
                guard try scanner.kind() == .array else { return try scanner.skip() }
                try scanner.array { (_, scanner) throws(JSONError) in
                    if let (name, choices) = try readChoices(&scanner) {
                        annotation.choices[name, default: []] += choices
                    }
                }
            default: try scanner.skip()
            }
        }
        return annotation
    }

    /// Reads a result: its choices, and the name of the control tag; nil for other results.
    private static func readChoices(_ scanner: inout JSONScanner) throws(JSONError) -> (
        name: String, choices: [String]
    )? {
        var name: String?, choices: [String]?
        guard try scanner.kind() == .object else {
            try scanner.skip()
            return nil
        }
        try scanner.object { (key, scanner) throws(JSONError) in
            switch key {
            case "from_name":
                guard try scanner.kind() == .string else { return try scanner.skip() }
                name = try scanner.string()
            case "value":
                guard try scanner.kind() == .object else { return try scanner.skip() }
                try scanner.object { (member, scanner) throws(JSONError) in
                    guard member == "choices", try scanner.kind() == .array else { return try scanner.skip() }
                    var found: [String] = []
                    try scanner.array { (_, scanner) throws(JSONError) in
                        guard try scanner.kind() == .string else { return try scanner.skip() }
                        found.append(try scanner.string())
                    }
                    choices = found
                }
            default: try scanner.skip()
            }
        }
        guard let name, let choices else { return nil }
        return (name, choices)
    }

    /// Reads an id; nil for something other than a whole number.
    private static func identifier(_ scanner: inout JSONScanner) throws(JSONError) -> Int? {
        guard try scanner.kind() == .number else {
            try scanner.skip()
            return nil
        }
        return try scanner.number().integer(Int.self, in: scanner.text)
    }
}

extension LabelBody.Place {
    /// The beginning of the text, decoded.
    /// - Parameter maximum: the number of bytes to look at.
    func text(in body: UnsafeRawBufferPointer, maximum: Int) -> String {
        guard length > maximum else {
            var scanner = JSONScanner(body).moved(to: start)
            return (try? scanner.string()) ?? ""
        }
        // Longer than any path: only its scheme matters.
        let range = start + 1..<min(start + 1 + 200, body.count)
        return String(decoding: body[range], as: UTF8.self)
    }

    /// The bytes of a data: URI; nil if it is not base64.
    func base64(in body: UnsafeRawBufferPointer) -> [UInt8]? {
        var scanner = JSONScanner(body).moved(to: start)
        return try? scanner.base64 { .value($0) }
    }

    /// The first bytes of a data: URI; fewer if they cannot be decoded.
    func base64Start(in body: UnsafeRawBufferPointer, bytes: Int) -> [UInt8] {
        let end = min(start + 1 + length, body.count)
        guard start + 1 < end, let comma = body[start + 1..<end].prefix(200).firstIndex(of: UInt8(ascii: ",")) else {
            return []
        }
        let text = body[comma + 1..<min(end, comma + 1 + bytes / 3 * 4)]
        return Base64.decode(UnsafeRawBufferPointer(rebasing: text)) ?? []
    }
}
