package import Inference
package import JSON

/// Reads an example of an update: `{"inputs": {…}, "label": …}` or `{"inputs": {…}, "target": …}`.
package struct UpdateExampleReader: Sendable {
    private let inputs: [FeatureDescription]
    private let goalName: String
    private let kind: ModelUpdater.GoalKind
    private let pictures: PictureFiles?

    /// An example.
    package struct Example: Sendable {
        package let inputs: DictionaryFeatureProvider
        package let goal: ModelUpdater.Goal
    }

    /// - Parameter pictures: the folder of pictures that are given by file name; nil if they are base64 text.
    package init(_ updater: ModelUpdater, pictures: PictureFiles? = nil) {
        (inputs, goalName, kind) = (updater.inputs, updater.goalName, updater.goalKind)
        self.pictures = pictures
    }

    package func read(_ scanner: inout JSONScanner) throws(JSONError) -> Example {
        guard try scanner.kind() == .object else {
            throw .value("expected {\"inputs\": {…}, \"\(member)\": …}, found \(try scanner.kind().rawValue)")
        }
        var item: DictionaryFeatureProvider?
        var goal: ModelUpdater.Goal?
        try scanner.object { (key, scanner) throws(JSONError) in
            switch key {
            case "inputs": item = try ItemReader(inputs: inputs, pictures: pictures).read(&scanner)
            case "label", "target":
                guard goal == nil else { throw .value("both \"label\" and \"target\" are given: expected one") }
                goal = try self.goal(&scanner, key)
            default:
                throw .value("member \"\(key.prefix(60))\" is unknown: expected \"inputs\" and \"\(member)\"")
            }
        }
        guard let item else { throw .value("\"inputs\" is missing") }
        guard let goal else {
            throw .value(
                "\"\(member)\" is missing: what the model should give (training input \"\(goalName.prefix(60))\")")
        }
        return Example(inputs: item, goal: goal)
    }

    private var member: String { kind == .numbers ? "target" : "label" }

    private func goal(_ scanner: inout JSONScanner, _ key: String) throws(JSONError) -> ModelUpdater.Goal {
        func mistake(_ found: String) -> JSONError {
            let expected =
                switch kind {
                case .text: "a string"
                case .integer: "an integer"
                case .numbers: "a number or an array of numbers"
                }
            return .value("\"\(key)\": expected \(expected), found \(found)")
        }
        switch (kind, try scanner.kind()) {
        case (.text, .string): return .text(try scanner.string())
        case (.integer, .number):
            guard let number = try scanner.number().double(in: scanner.text), let integer = Int64(exactly: number)
            else {
                throw mistake("another number")
            }
            return .integer(integer)
        case (.integer, .array):
            let numbers = try self.numbers(&scanner, mistake)
            guard numbers.count == 1, let integer = Int64(exactly: numbers[0]) else {
                throw mistake("an array of \(numbers.count) numbers")
            }
            return .integer(integer)
        case (.numbers, .number), (.numbers, .array): return .numbers(try numbers(&scanner, mistake))
        case (_, let found): throw mistake(found.rawValue)
        }
    }

    /// The maximum number of numbers in a target.
    private static let maximumNumbers = 1 << 22

    /// Reads a number, or numbers in regular arrays, in row-major order.
    private func numbers(_ scanner: inout JSONScanner, _ mistake: (String) -> JSONError) throws(JSONError) -> [Double] {
        var result: [Double] = []
        _ = try scanner.elements(name: goalName, "a number") { (scanner) throws(JSONError) in
            let kind = try scanner.kind()
            guard kind == .number else { throw mistake(kind.rawValue) }
            guard let number = try scanner.number().double(in: scanner.text), number.isFinite else {
                throw mistake("a number that a 64-bit float cannot hold")
            }
            guard result.count < Self.maximumNumbers else { throw mistake("more than \(Self.maximumNumbers) numbers") }
            result.append(number)
        }
        return result
    }
}
