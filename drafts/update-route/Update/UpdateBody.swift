internal import Inference
internal import JSON

/// The body of an update: `{"examples": […], "epochs", "learning_rate", "mini_batch", "seed"}`.
struct UpdateBody {
    var choices = ModelUpdater.Choices()
    /// Where the list of examples begins in the text.
    private(set) var examples: Int?

    /// Examples of one update.
    static let mostExamples = 100_000

    /// Reads all but the examples, which are passed over.
    init(_ text: UnsafeRawBufferPointer) throws(JSONError) {
        var scanner = JSONScanner(text)
        let expected = "expected {\"examples\": […]} with \"epochs\", \"learning_rate\", \"mini_batch\" and \"seed\""
        guard try scanner.kind() == .object else { throw .value("\(expected), found \(try scanner.kind().rawValue)") }
        try scanner.object { (key, scanner) throws(JSONError) in
            switch key {
            case "examples":
                guard try scanner.kind() == .array else {
                    throw .value("\"examples\": expected an array, found \(try scanner.kind().rawValue)")
                }
                examples = scanner.position
                try scanner.skip()
            case "epochs": choices.epochs = try Self.integer(&scanner, key)
            case "mini_batch": choices.miniBatch = try Self.integer(&scanner, key)
            case "seed": choices.seed = try Self.integer(&scanner, key)
            case "learning_rate":
                guard try scanner.kind() == .number, let number = try scanner.number().double(in: scanner.text) else {
                    throw .value("\"learning_rate\": expected a number, found another value")
                }
                choices.learningRate = number
            default:
                let hint = Spelling.hint(
                    for: key, among: ["examples", "epochs", "learning_rate", "mini_batch", "seed"])
                throw .value("member \"\(key.prefix(60))\" is unknown\(hint); \(expected)")
            }
        }
        try scanner.end()
        guard examples != nil else { throw .value("\"examples\" is missing") }
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
