/// A classifier of embeddings, made from examples: the part of a taught model that answers and that an export contains.
package struct TaughtClassifier: Sendable, Equatable {
    package let method: TeachingMethod
    /// The names of the classes, in the order of their indices.
    package let labels: [String]
    /// The number of elements of an embedding.
    package let dimension: Int
    /// The vector that is subtracted from an embedding before it is normalised.
    package let center: [Float]
    /// The mean direction of each class; empty for nearest neighbours.
    package let means: [Float]
    /// The weights of logistic regression, one row per class; empty for other methods.
    package let weights: [Float]
    /// The intercepts of logistic regression, one per class; empty for other methods.
    package let intercepts: [Float]
    /// The directions of the examples; empty except for nearest neighbours.
    package let examples: [Float]
    /// The class of each of these examples.
    package let exampleClasses: [Int]
    /// The distance up to which an answer counts as known; nil if unknown, and for `normal`.
    package var threshold: Float?
    /// The examples of a `normal` model, which has one class and nothing of the above; nil for
    /// other methods.
    package var normal: NormalExamples?

    /// The distance up to which an answer counts as known, by any method; nil if unknown.
    package var knownDistance: Float? { threshold ?? normal?.leftOut?.threshold.map { Float($0) } }

    /// The factor of cosines before softmax, for the nearest mean.
    package static let scale = 10.0
    /// The maximum number of neighbours that vote; fewer if a class has fewer examples.
    package static let maximumNeighbors = 5

    /// Creates a head from the numbers of a file. Fails if their sizes do not match.
    ///
    /// Wide: a record, in the order of its fields.
    package init?(
        method: TeachingMethod, labels: [String], dimension: Int, center: [Float], means: [Float], weights: [Float],
        intercepts: [Float], examples: [Float], exampleClasses: [Int], threshold: Float?
    ) {
        let (numbers, isTooLarge) = labels.count.multipliedReportingOverflow(by: dimension)
        guard method != .normal, dimension > 0, !labels.isEmpty, !isTooLarge, center.count == dimension else {
            return nil
        }
        let isLogistic = method == .logistic, isNeighbors = method == .nearestNeighbors
        guard means.count == (isNeighbors ? 0 : numbers), weights.count == (isLogistic ? numbers : 0),
            intercepts.count == (isLogistic ? labels.count : 0), examples.isEmpty != isNeighbors,
            examples.count / dimension == exampleClasses.count, examples.count % dimension == 0,
            exampleClasses.allSatisfy({ labels.indices.contains($0) }),
            [center, means, weights, intercepts, examples].allSatisfy({ $0.allSatisfy(\.isFinite) }),
            threshold?.isFinite ?? true
        else { return nil }
        self.method = method
        self.labels = labels
        self.dimension = dimension
        self.center = center
        self.means = means
        self.weights = weights
        self.intercepts = intercepts
        self.examples = examples
        self.exampleClasses = exampleClasses
        self.threshold = threshold
    }

    /// Creates the head of a `normal` model.
    package init(_ normal: NormalExamples) {
        method = .normal
        labels = [Self.normalLabel]
        dimension = normal.dimension
        (center, means, weights, intercepts, examples, exampleClasses) = ([], [], [], [], [], [])
        threshold = nil
        self.normal = normal
    }

    /// The label of all examples of a model that learns what is normal.
    package static let normalLabel = "normal"

    /// Learns to tell classes apart from a part of the examples. Fails if cancelled, and for `normal`.
    /// - Parameter centering: the centering of the part, if it is known.
    init?(
        _ method: TeachingMethod, _ set: ExampleSet, part: ExampleSet.Part, centering: Centering? = nil,
        isCancelled: () -> Bool
    ) {
        guard method != .normal else { return nil }
        let rows = set.rows(of: part)
        let centering = centering ?? Centering(set, rows: rows)
        self.method = method
        labels = set.labels
        dimension = set.dimension
        center = centering.center
        threshold = nil
        guard method == .nearestNeighbors else {
            means = ClassMeans(set, rows: rows, centering: centering).rows
            (examples, exampleClasses) = ([], [])
            if method == .logistic {
                guard let found = LogisticRegression(set, rows: rows, centering: centering, isCancelled: isCancelled)
                else { return nil }
                (weights, intercepts) = (found.weights, found.intercepts)
            } else {
                (weights, intercepts) = ([], [])
            }
            return
        }
        (means, weights, intercepts) = ([], [], [])
        examples = rows.flatMap { row in centering.apply(set.rows[row]).map { Float($0) } }
        exampleClasses = rows.map { set.classes[$0] }
    }

    /// Creates a head for the nearest mean.
    init(_ set: ExampleSet, centering: Centering, means: ClassMeans) {
        method = .nearestMean
        labels = set.labels
        dimension = set.dimension
        center = centering.center
        self.means = means.rows
        (weights, intercepts, examples, exampleClasses) = ([], [], [], [])
        threshold = nil
    }

    /// Learns to tell classes apart from all examples. Fails if cancelled, and for `normal`.
    package init?(_ method: TeachingMethod, _ set: ExampleSet, isCancelled: () -> Bool = { false }) {
        self.init(method, set, part: .all, isCancelled: isCancelled)
    }
}
