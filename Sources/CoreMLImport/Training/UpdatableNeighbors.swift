internal import FileFormats

/// A nearest neighbors classifier that grows by the examples of an update (NearestNeighbors.proto).
struct UpdatableNeighbors: Sendable {
    let dimension: Int
    let hasIntegerLabels: Bool
    private let samples: Int
    /// The maximum number of samples.
    private static let maximumSamples = 200_000

    init(_ specification: ModelSpecification) throws(Problem) {
        // Check everything that predictions need.
        let message = try Message(specification.reader)
        _ = try NearestNeighborsClassifier(message, specification.description)
        let index = try message.message(1) ?? .empty
        dimension = try index.integer(1)
        samples = index.all(2).count
        let output = specification.description.outputs.first {
            $0.name == specification.description.predictedFeatureName
        }
        hasIntegerLabels =
            message.has(101) || message.has(111) || !message.has(100) && !message.has(110) && output?.type == .int64
        guard !(message.has(100) && hasIntegerLabels) else { throw Problem("has labels of two types") }
    }

    /// Adds samples and labels after those of the classifier's message.
    func adding(_ examples: [UpdatableModel.Example]) throws(Problem) -> (Bytes) throws(Problem) -> [UInt8] {
        guard samples + examples.count <= Self.maximumSamples else {
            throw Problem(
                "there are \(samples) samples in the file and \(examples.count) new ones: the limit is \(Self.maximumSamples)"
            )
        }
        var rows: [UInt8] = [], labels: [UInt8] = [], numbers: [Int] = []
        for (index, example) in examples.enumerated() {
            guard example.features.count == dimension else {
                throw Problem(
                    "example \(index + 1) has \(example.features.count) numbers: expected \(dimension) (numberOfDimensions)"
                )
            }
            rows += ProtobufWriter.field(2, ProtobufWriter.field(1, floats: example.features))
            switch example.target {
            case .label(.string(let text)) where !hasIntegerLabels: labels += ProtobufWriter.field(1, text)
            case .label(.int64(let number)) where hasIntegerLabels: numbers.append(Int(number))
            default:
                throw Problem(
                    "example \(index + 1): expected a label that is \(hasIntegerLabels ? "an integer" : "a string")")
            }
        }
        if hasIntegerLabels { labels = ProtobufWriter.field(1, integers: numbers) }
        let (field, added) = (hasIntegerLabels ? 101 : 100, labels)
        return { [rows] (old) throws(Problem) in
            var edit = try MessageEdit(old)
            try edit.change(1) { (index) throws(Problem) in index.elements() + rows }
            if edit.has(field) {
                try edit.change(field) { (list) throws(Problem) in list.elements() + added }
            } else {
                edit.append(ProtobufWriter.field(field, added))
            }
            return edit.result
        }
    }
}
