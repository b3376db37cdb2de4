internal import Inference
internal import JSON
internal import SystemSupport

/// The body of an update: `{"examples": […], "epochs", "learning_rate", "mini_batch", "seed"}`.
struct UpdateBody: Sendable {
    private(set) var choices = ModelUpdater.Choices()
    /// The offsets of the examples in the text: they are read one by one once the model is known.
    private(set) var examples: [Int] = []

    /// The maximum number of examples of one update.
    static let maximumExamples = 100_000
    private static let names = ["examples", "epochs", "learning_rate", "mini_batch", "seed"]

    /// Reads all members and skips the examples.
    init(_ text: UnsafeRawBufferPointer) throws(JSONError) {
        var scanner = JSONScanner(text)
        let expected = "expected {\"examples\": […]} with \"epochs\", \"learning_rate\", \"mini_batch\" and \"seed\""
        guard try scanner.kind() == .object else {
            throw .value("\(expected), found \(try scanner.kind().rawValue)")
        }
        var places: [Int]?
        try scanner.object { (key, scanner) throws(JSONError) in
            switch key {
            case "examples": places = try Self.places(&scanner)
            case "epochs": choices.epochs = try Self.integer(&scanner, key)
            case "mini_batch": choices.miniBatch = try Self.integer(&scanner, key)
            case "seed": choices.seed = try Self.integer(&scanner, key)
            case "learning_rate":
                guard try scanner.kind() == .number, let number = try scanner.number().double(in: scanner.text) else {
                    throw .value("\"learning_rate\": expected a number, found \(try scanner.kind().rawValue)")
                }
                choices.learningRate = number
            default:
                throw .value(
                    "member \"\(key.prefix(60))\" is unknown\(Spelling.hint(for: key, among: Self.names)); \(expected)")
            }
        }
        try scanner.end()
        guard let places else { throw .value("\"examples\" is missing") }
        guard !places.isEmpty else { throw .value("\"examples\" is empty") }
        examples = places
    }

    private static func places(_ scanner: inout JSONScanner) throws(JSONError) -> [Int] {
        guard try scanner.kind() == .array else {
            throw .value("\"examples\": expected an array, found \(try scanner.kind().rawValue)")
        }
        var places: [Int] = []
        try scanner.array { (_, scanner) throws(JSONError) in
            guard places.count < maximumExamples else {
                throw .value("\"examples\" has more than \(maximumExamples) elements")
            }
            scanner.skipSpace()
            places.append(scanner.position)
            try scanner.skip()
        }
        return places
    }

    private static func integer(_ scanner: inout JSONScanner, _ key: String) throws(JSONError) -> Int {
        guard try scanner.kind() == .number else {
            throw .value("\"\(key)\": expected an integer, found \(try scanner.kind().rawValue)")
        }
        guard let number = try scanner.number().double(in: scanner.text), let integer = Int(exactly: number) else {
            throw .value("\"\(key)\": expected an integer, found another number")
        }
        return integer
    }
}
