internal import FileFormats

/// A taught classifier as a Core ML file (Model.proto). Its input is a vector as the embedder's `/embed` gives it, its
/// outputs are the label and the probability of each label, as Xcode's classifiers have them.
///
/// It is a pipeline of a scaler, which subtracts the centre; a normalizer, which divides by the length; and a
/// generalized linear model, or a nearest neighbors classifier. It lacks the distance up to which an answer
/// counts as known, and the rule of nearest neighbours for distances below a millionth.
package enum CoreMLFile {
    /// The name of the input.
    package static let input = "embedding"
    /// The names of the outputs.
    package static let label = "classLabel", probabilities = "classLabelProbs"
    private static let centered = "centered", direction = "direction"

    /// The bytes of the file of the version that serves. Its metadata name the taught model, the version, the method,
    /// and the embedder with its digest.
    /// - Parameters:
    ///   - head: the head that answers; nil without examples.
    ///   - state: of the taught model.
    ///   - name: the name of the taught model.
    /// - Throws: ``TeachingError``: invalid for a `normal` model, conflict for fewer than two classes.
    package static func bytes(
        of head: TaughtClassifier?, _ state: TaughtState, name: String
    ) throws(TeachingError) -> [UInt8] {
        guard state.choice.falseAlarms == nil else {
            throw .invalid(
                "\(name) has the method normal, which is no classifier: a Core ML file is for methods that tell classes apart"
            )
        }
        let classes = head?.labels.count ?? 0
        guard let head, classes > 1 else {
            throw .conflict("a Core ML classifier needs two classes: \(name) has \(classes)")
        }
        let embedder = state.embedder
        return bytes(
            of: head, description: "Classifies vectors of the embedder \(embedder.model), as \(name) was taught.",
            about: [
                ("taught_model", name), ("taught_version", String(state.serving)),
                ("method", head.method.rawValue),
                ("embedder", embedder.model), ("embedder_version", embedder.version),
                ("embedder_digest", embedder.digest),
            ])
    }

    private static func bytes(
        of head: TaughtClassifier, description: String, about: [(key: String, value: String)]
    ) -> [UInt8] {
        let array = ProtobufWriter.field(5, Self.array(head.dimension))
        let (vector, centred, unit) = (feature(input, array), feature(centered, array), feature(direction, array))
        let outputs = Self.outputs
        let isNeighbors = head.method == .nearestNeighbors
        // Nearest neighbours exist since iOS 13.
        let version = ProtobufWriter.field(1, integer: isNeighbors ? 4 : 1)
        let scaler = ProtobufWriter.field(1, doubles: head.center.map { -Double($0) })
        let classifier: ProtobufPart = isNeighbors ? .message(404, neighbors(head)) : .message(400, linear(head))
        let models: [ProtobufPart] = [
            model(version, interface(vector, [centred]), .fields(ProtobufWriter.field(604, scaler))),
            // NormType.L2
            model(
                version, interface(centred, [unit]),
                .fields(ProtobufWriter.field(607, ProtobufWriter.field(1, integer: 2)))),
            model(version, interface(unit, outputs, isClassifier: true), classifier),
        ]
        let names = ["center", "normalize", "classify"].flatMap { ProtobufWriter.field(2, $0) }
        var whole = interface(vector, outputs, isClassifier: true)
        var metadata = ProtobufWriter.field(1, description) + ProtobufWriter.field(3, "Ocelli")
        for entry in about {
            let pair = ProtobufWriter.field(1, entry.key) + ProtobufWriter.field(2, entry.value)
            metadata += ProtobufWriter.field(100, pair)
        }
        whole += ProtobufWriter.field(100, metadata)
        return ProtobufPart.bytes([
            .fields(version + ProtobufWriter.field(2, whole)),
            // PipelineClassifier.pipeline: the models and their names.
            .message(200, [.message(1, models + [.fields(names)])]),
        ])
    }

    // MARK: Interface

    /// ArrayFeatureType: one axis of doubles.
    private static func array(_ count: Int) -> [UInt8] {
        ProtobufWriter.field(1, integers: [count]) + ProtobufWriter.field(2, integer: 65_600)
    }

    /// FeatureDescription.
    private static func feature(_ name: String, _ type: [UInt8]) -> [UInt8] {
        ProtobufWriter.field(1, name) + ProtobufWriter.field(3, type)
    }

    /// A string, and a dictionary of doubles by strings.
    private static let outputs = [
        feature(label, ProtobufWriter.field(3, [])),
        feature(probabilities, ProtobufWriter.field(6, ProtobufWriter.field(2, []))),
    ]

    /// ModelDescription.
    private static func interface(_ input: [UInt8], _ outputs: [[UInt8]], isClassifier: Bool = false) -> [UInt8] {
        var bytes = ProtobufWriter.field(1, input) + outputs.flatMap { ProtobufWriter.field(10, $0) }
        if isClassifier { bytes += ProtobufWriter.field(11, label) + ProtobufWriter.field(12, probabilities) }
        return bytes
    }

    /// A model of the pipeline.
    private static func model(_ version: [UInt8], _ interface: [UInt8], _ content: ProtobufPart) -> ProtobufPart {
        .message(1, [.fields(version + ProtobufWriter.field(2, interface)), content])
    }

    private static func stringLabels(_ labels: some Collection<String>) -> [UInt8] {
        ProtobufWriter.field(100, labels.flatMap { ProtobufWriter.field(1, $0) })
    }

    // MARK: Classifiers

    /// GLMClassifier with the first class as reference: the rows of the others, less that of the first.
    private static func linear(_ head: TaughtClassifier) -> [ProtobufPart] {
        let dimension = head.dimension, isLogistic = head.method == .logistic
        let rows = isLogistic ? head.weights : head.means
        let scale = isLogistic ? 1 : TaughtClassifier.scale
        var bytes: [UInt8] = [], offsets: [Double] = []
        for index in head.labels.indices.dropFirst() {
            let own = rows[index * dimension..<(index + 1) * dimension]
            let row = zip(own, rows[..<dimension]).map { (Double($0) - Double($1)) * scale }
            bytes += ProtobufWriter.field(1, ProtobufWriter.field(1, doubles: row))
            offsets.append(isLogistic ? Double(head.intercepts[index]) - Double(head.intercepts[0]) : 0)
        }
        return [.fields(bytes + ProtobufWriter.field(2, doubles: offsets) + stringLabels(head.labels))]
    }

    /// KNearestNeighborsClassifier with all examples, in a linear index of squared Euclidean distances. Of directions
    /// that is twice the cosine distance, so that the shares of the votes are equal.
    private static func neighbors(_ head: TaughtClassifier) -> [ProtobufPart] {
        let dimension = head.dimension
        let samples = head.exampleClasses.indices.map { index in
            ProtobufPart.message(2, [.floats(1, head.examples[index * dimension..<(index + 1) * dimension])])
        }
        let kinds = ProtobufWriter.field(100, []) + ProtobufWriter.field(200, [])
        let range = ProtobufWriter.field(1, integer: 1) + ProtobufWriter.field(2, integer: head.exampleClasses.count)
        let count = ProtobufWriter.field(1, integer: head.neighbors) + ProtobufWriter.field(10, range)
        return [
            .message(1, [.fields(ProtobufWriter.field(1, integer: dimension))] + samples + [.fields(kinds)]),
            .fields(
                ProtobufWriter.field(3, count) + stringLabels(head.exampleClasses.map { head.labels[$0] })
                    + ProtobufWriter.field(210, [])),
        ]
    }
}
