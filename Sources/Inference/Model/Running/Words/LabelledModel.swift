internal import Observations

/// A compiled model with one output more: the confidences of classes, of the vector in one of its outputs. So a model
/// for pictures and texts with labels of its own runs as any classifier does.
final class LabelledModel: CompiledModel {
    /// The name of the output.
    static let output = "probabilities"

    private let base: any CompiledModel
    private let vector: Int
    private let classes: EmbeddingClasses
    let outputs: [TensorPort]

    /// - Parameters:
    ///   - vector: the index of the output with the vector, `[N, dimension]`.
    ///   - classes: vectors of the same dimension.
    init(_ base: any CompiledModel, vector: Int, classes: EmbeddingClasses) {
        self.base = base
        self.vector = vector
        self.classes = classes
        let rows = base.outputs.indices.contains(vector) ? base.outputs[vector].shape.dimensions.first : nil
        outputs =
            base.outputs + [
                TensorPort(name: Self.output, elementType: .float32, shape: Shape([rows ?? 1, classes.count]))
            ]
    }

    /// The index of the output.
    var index: Int { base.outputs.count }

    var inputs: [TensorPort] { base.inputs }
    var optimalRequestCount: Int { base.optimalRequestCount }
    var loadedFromCache: Bool { base.loadedFromCache }
    var executionDevices: String { base.executionDevices }
    var execution: ExecutionProperties { base.execution }
    var remarks: [String] { base.remarks }
    var shapeMemory: Int { base.shapeMemory }

    func check(_ shapes: [Int: Shape]) throws(EngineError) { try base.check(shapes) }

    func makeRequest() throws(EngineError) -> any InferRequest {
        LabelledRequest(
            try base.makeRequest(), vector: vector, type: base.outputs[vector].elementType, index: index,
            classes: classes)
    }

    func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor {
        try base.makeTensor(elementType: elementType, shape: shape)
    }
}

/// A request of a ``LabelledModel``: computes its output when it is read.
private final class LabelledRequest: InferRequest {
    private let base: any InferRequest
    private let vector: Int, index: Int
    private let reader: ScoreReader
    private let classes: EmbeddingClasses

    init(_ base: any InferRequest, vector: Int, type: ElementType, index: Int, classes: EmbeddingClasses) {
        self.base = base
        self.vector = vector
        self.index = index
        self.classes = classes
        reader = ScoreReader(elementType: type, linear: nil, activation: nil)
    }

    func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R {
        guard index == self.index else { return try base.withOutput(index, body) }
        return try base.withOutput(vector) { shape, raw in
            let confidences = reader.withScores(raw) { values in
                stride(from: 0, to: values.count - values.count % classes.dimension, by: classes.dimension).flatMap {
                    // Numbers that are not finite make no confidences, which the reader of the output reports.
                    classes.probabilities(UnsafeBufferPointer(rebasing: values[$0..<$0 + classes.dimension]))
                        ?? [Float](repeating: .nan, count: classes.count)
                }
            }
            let rows = confidences.count / max(1, classes.count)
            return confidences.withUnsafeBytes { body(Shape([rows, classes.count]), $0) }
        }
    }

    func feature(_ index: Int) -> FeatureValue? { index == self.index ? nil : base.feature(index) }
    func setInput(_ index: Int, to tensor: any EngineTensor) throws(EngineError) {
        try base.setInput(index, to: tensor)
    }
    func start(completion: @escaping @Sendable () -> Void) throws(EngineError) {
        try base.start(completion: completion)
    }
    func finish() throws(EngineError) { try base.finish() }
    func cancel() { base.cancel() }
    var isFit: Bool { base.isFit }
    func setDetectionThresholds(_ thresholds: DetectionThresholds) { base.setDetectionThresholds(thresholds) }
    func profile() throws(EngineError) -> [LayerProfile] { try base.profile() }
}
