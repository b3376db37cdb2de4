/// Classifies by the nearest samples (NearestNeighbors.proto). Both kinds of index give the same result.
struct NearestNeighborsClassifier: ClassicalModel {
    private let width: Int
    /// Row-major.
    private let samples: [Float]
    /// The index of the class of each sample.
    private let classes: [Int]
    private let neighbors: Int
    private let weighsByDistance: Bool
    /// The class to predict if there are no samples.
    private let fallback: Category?
    private let inputs: NumberInputs
    /// nil if there are no samples.
    private let outputs: ClassifierOutputs?
    private let labelName: String, probabilitiesName: String
    var inputCount: Int? { width }
    var labels: [Category]? { outputs?.labels }

    init(_ message: Message, _ description: InterfaceSpecification) throws(Problem) {
        guard let index = try message.message(1) else { throw Problem("has no nearest neighbors index") }
        width = try index.integer(1)
        guard (1...1 << 24).contains(width) else { throw Problem("numberOfDimensions is \(width)") }
        var samples: [Float] = []
        for (number, row) in index.all(2).enumerated() {
            let values = try row.message().floats(1)
            guard values.count == width else {
                throw Problem("floatSamples[\(number)] has \(values.count) numbers: expected \(width)")
            }
            guard values.allSatisfy(\.isFinite) else {
                throw Problem("floatSamples[\(number)] has a number that is not finite")
            }
            samples += values
        }
        self.samples = samples
        let labels = try ClassifierOutputs.labels(message)
        guard labels.count == samples.count / width else {
            throw Problem("has \(samples.count / width) samples and \(labels.count) class labels")
        }
        let distinct = Set(labels).sorted()
        var places: [Category: Int] = [:]
        for (place, label) in distinct.enumerated() { places[label] = place }
        classes = labels.map { places[$0] ?? 0 }
        let wanted = try message.message(3)?.integer(1) ?? 0
        guard wanted >= 1 || labels.isEmpty else { throw Problem("numberOfNeighbors is \(wanted): expected 1 or more") }
        neighbors = min(wanted, labels.count)
        weighsByDistance = message.has(210)
        if message.has(110) {
            fallback = .string(try message.string(110))
        } else {
            fallback = message.has(111) ? .int64(Int64(try message.integer(111))) : nil
        }
        inputs = try NumberInputs(description.inputs)
        outputs = labels.isEmpty ? nil : try ClassifierOutputs(labels: distinct, description: description)
        labelName = description.predictedFeatureName
        probabilitiesName = description.predictedProbabilitiesName
        guard !labels.isEmpty || fallback != nil else {
            throw Problem("has no samples and no default label: it was never trained")
        }
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        guard let outputs else {
            // Not trained: no class has a probability.
            var table: FeatureTable = fallback.map { [labelName: $0.data] } ?? [:]
            if !probabilitiesName.isEmpty {
                table[probabilitiesName] = .dictionary(CategoryNumbers(keys: [], values: []))
            }
            return table
        }
        let vector = try inputs.vector(table, count: width)
        let nearest = nearest(to: vector)
        var votes = [Double](repeating: 0, count: outputs.labels.count)
        // Samples at distance 0 decide, as an infinite weight would.
        let hits = nearest.filter { $0.distance == 0 }
        for found in weighsByDistance && !hits.isEmpty ? hits : nearest {
            votes[classes[found.sample]] += weighsByDistance && hits.isEmpty ? 1 / found.distance : 1
        }
        return outputs.table(Transforms.shares(votes))
    }

    /// The nearest samples by squared Euclidean distance; of equal distances, the first samples.
    private func nearest(to vector: [Double]) -> [(distance: Double, sample: Int)] {
        var nearest: [(distance: Double, sample: Int)] = []
        for sample in classes.indices {
            var distance = 0.0
            for column in 0..<width {
                let difference = vector[column] - Double(samples[sample * width + column])
                distance += difference * difference
            }
            if nearest.count == neighbors, let last = nearest.last, distance >= last.distance { continue }
            let place = nearest.firstIndex { distance < $0.distance } ?? nearest.count
            nearest.insert((distance, sample), at: place)
            if nearest.count > neighbors { nearest.removeLast() }
        }
        return nearest
    }
}

extension Category: Comparable {
    /// Orders integers by value and strings by their bytes; integers come first.
    package static func < (a: Category, b: Category) -> Bool {
        switch (a, b) {
        case (.int64(let a), .int64(let b)): a < b
        case (.string(let a), .string(let b)): a.utf8.lexicographicallyPrecedes(b.utf8)
        case (.int64, .string): true
        case (.string, .int64): false
        }
    }
}
