/// The contents of a Core ML file (Model.proto): its description, and the unparsed model of one of the types.
package struct ModelSpecification: Sendable {
    package var version: Int
    package var description: InterfaceSpecification
    package var isUpdatable: Bool
    package var type: ModelType
    /// The bytes of the model's message.
    package var body: Bytes
    /// The nesting depth of this model, to bound pipelines within pipelines.
    package var depth: Int

    /// The versions of iOS 11 to 26.
    package static let knownVersions = 1...10

    /// Reads a file, or a model within a pipeline. Parses only the description.
    package init(_ bytes: Bytes, depth: Int = 0) throws(Problem) {
        try bytes.refuseForeignContent()
        try self.init(MessageReader(bytes, depth: depth))
    }

    package init(_ message: MessageReader) throws(Problem) {
        var reader = message
        depth = reader.depth
        version = 0
        description = InterfaceSpecification()
        isUpdatable = false
        var found: (type: ModelType, body: Bytes)?
        var unknown: Int?
        while let field = try reader.next() {
            switch field.number {
            case 1: version = try field.signed()
            case 2:
                description = try located("description") { () throws(Problem) in
                    try InterfaceSpecification(field.message())
                }
            case 10: isUpdatable = try field.bool()
            default:
                if let type = ModelType(rawValue: field.number) {
                    found = (type, try field.data())
                } else if field.number >= 200 {
                    unknown = field.number
                }
            }
        }
        guard version > 0 else {
            throw Problem("not a Core ML model: it has no specification version")
        }
        guard Self.knownVersions.contains(version) else {
            throw Problem(
                "unknown specification version \(version): expected \(Self.knownVersions.lowerBound) "
                    + "to \(Self.knownVersions.upperBound) (iOS 11 to 26)")
        }
        guard let found else {
            throw Problem(
                unknown.map { "unknown model type \($0)" } ?? "the model has no type: it is empty")
        }
        type = found.type
        body = found.body
    }

    package var reader: MessageReader { MessageReader(body, depth: depth + 1) }
}

/// The types of models, by the field numbers of Model.proto's `oneof Type`.
package enum ModelType: Int, Sendable, CaseIterable {
    case pipelineClassifier = 200
    case pipelineRegressor = 201
    case pipeline = 202
    case glmRegressor = 300
    case supportVectorRegressor = 301
    case treeEnsembleRegressor = 302
    case neuralNetworkRegressor = 303
    case bayesianProbitRegressor = 304
    case glmClassifier = 400
    case supportVectorClassifier = 401
    case treeEnsembleClassifier = 402
    case neuralNetworkClassifier = 403
    case kNearestNeighborsClassifier = 404
    case neuralNetwork = 500
    case itemSimilarityRecommender = 501
    case mlProgram = 502
    case customModel = 555
    case linkedModel = 556
    case classConfidenceThresholding = 560
    case oneHotEncoder = 600
    case imputer = 601
    case featureVectorizer = 602
    case dictVectorizer = 603
    case scaler = 604
    case categoricalMapping = 606
    case normalizer = 607
    case arrayFeatureExtractor = 609
    case nonMaximumSuppression = 610
    case identity = 900
    case textClassifier = 2000
    case wordTagger = 2001
    case visionFeaturePrint = 2002
    case soundAnalysisPreprocessing = 2003
    case gazetteer = 2004
    case wordEmbedding = 2005
    case audioFeaturePrint = 2006
    case serializedModel = 3000

    /// The name in Model.proto.
    package var name: String { "\(self)" }
}
