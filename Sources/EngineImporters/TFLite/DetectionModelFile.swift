package import EngineAPI
internal import Observations
internal import Synchronization

/// A detector with an unsupported last operator: the engine runs the file without it, and this code
/// computes it. For callers, the model has the outputs of its file.
package struct DetectionModelFile: ModelFile {
    package let base: any ModelFile
    let detection: DetectionOperator
    /// The indices of the engine's outputs that are the operator's inputs: offsets and scores.
    private let taken: [Int]

    package var inputs: [TensorPort] { base.inputs }
    package var integerWeights: IntegerWeights? { base.integerWeights }
    package var digest: String? { base.digest }
    /// The four outputs of the operator, then the others.
    package var outputs: [TensorPort] { detection.outputs + others.map { base.outputs[$0] } }
    private var others: [Int] { base.outputs.indices.filter { !taken.contains($0) } }

    /// - Throws: `invalidModel` if the file without the operator lacks the operator's inputs.
    init(_ base: any ModelFile, detection: DetectionOperator) throws(EngineError) {
        self.base = base
        self.detection = detection
        var taken: [Int] = []
        for (index, name) in detection.inputs.enumerated() {
            // The last outputs are the operator's inputs; their names may be lost during the conversion.
            let last = base.outputs.count - 2 + index
            guard let found = base.outputIndex(named: name) ?? (last >= 0 ? last : nil) else {
                throw EngineError(
                    kind: .invalidModel, operation: "find the inputs of \(DetectionOperator.name)",
                    detail: "there is no tensor \"\(name)\"")
            }
            taken.append(found)
        }
        self.taken = taken
    }

    package func inputIndex(named name: String) -> Int? { base.inputIndex(named: name) }
    package func outputIndex(named name: String) -> Int? { outputs.firstIndex { $0.name == name } }

    package func compile(_ options: CompileOptions) throws(EngineError) -> any CompiledModel {
        let decoder: BoxDecoder
        do throws(ObservationError) {
            let shapes = ["boxes": [[1, detection.boxes, 4]], "scores": [[1, detection.boxes, detection.columns]]]
            // A tensor of one pixel, so that coordinates in pixels are fractions.
            decoder = try BoxDecoder(detection.decoding, shapes: shapes, width: 1, height: 1, classes: nil)
        } catch {
            throw EngineError(
                kind: .invalidModel, operation: "compute \(DetectionOperator.name)", detail: error.message)
        }
        return DetectionModel(
            base: try base.compile(options), outputs: outputs, detection: detection, decoder: decoder, taken: taken,
            others: others)
    }
}

private struct DetectionModel: CompiledModel {
    let base: any CompiledModel
    let outputs: [TensorPort]
    let detection: DetectionOperator
    let decoder: BoxDecoder
    let taken: [Int], others: [Int]

    var inputs: [TensorPort] { base.inputs }
    var optimalRequestCount: Int { base.optimalRequestCount }
    var loadedFromCache: Bool { base.loadedFromCache }
    var executionDevices: String { base.executionDevices }
    var execution: ExecutionProperties { base.execution }
    var shapeMemory: Int { base.shapeMemory }

    func check(_ shapes: [Int: Shape]) throws(EngineError) { try base.check(shapes) }
    func makeRequest() throws(EngineError) -> any InferRequest {
        DetectionRequest(base: try base.makeRequest(), model: self)
    }
    func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor {
        try base.makeTensor(elementType: elementType, shape: shape)
    }
}

private final class DetectionRequest: InferRequest {
    private let base: any InferRequest
    private let model: DetectionModel
    /// Boxes, classes, scores and count of the last inference.
    private let results = Mutex<[[Float]]>([])
    private let thresholds = Mutex(DetectionThresholds())

    init(base: any InferRequest, model: DetectionModel) {
        self.base = base
        self.model = model
    }

    func setInput(_ index: Int, to tensor: any EngineTensor) throws(EngineError) {
        try base.setInput(index, to: tensor)
    }
    func setDetectionThresholds(_ thresholds: DetectionThresholds) { self.thresholds.withLock { $0 = thresholds } }
    func start(completion: @escaping @Sendable () -> Void) throws(EngineError) {
        try base.start(completion: completion)
    }
    func cancel() { base.cancel() }
    var isFit: Bool { base.isFit }
    func profile() throws(EngineError) -> [LayerProfile] { try base.profile() }

    func finish() throws(EngineError) {
        try base.finish()
        let thresholds = thresholds.withLock { $0 }
        var options = BoxOptions()
        (options.threshold, options.iou) = (thresholds.confidence, thresholds.iou)
        let tables = try read(model.taken[...], []) { offsets, scores throws(ObservationError) in
            let found = try model.decoder.detections(in: ["boxes": [offsets], "scores": [scores]], options: options)
            return model.detection.tables(of: found, scores: scores.values)
        }
        results.withLock { $0 = tables }
    }

    func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R {
        guard index >= 4 else {
            let values = results.withLock { $0.indices.contains(index) ? $0[index] : [] }
            return values.withUnsafeBytes { body(model.outputs[index].shape, $0) }
        }
        return try base.withOutput(model.others[index - 4], body)
    }

    /// Reads the operator's inputs as 32-bit floats, and calls `body` with them.
    private func read(
        _ rest: ArraySlice<Int>, _ tensors: [OutputTensor],
        _ body: (OutputTensor, OutputTensor) throws(ObservationError) -> [[Float]]
    ) throws(EngineError) -> [[Float]] {
        guard let next = rest.first else {
            guard tensors.count == 2 else { return [] }
            do throws(ObservationError) {
                return try body(tensors[0], tensors[1])
            } catch {
                throw EngineError(
                    kind: .failure, operation: "compute \(DetectionOperator.name)", detail: error.message)
            }
        }
        let outcome: Result<[[Float]], EngineError> = try base.withOutput(next) { shape, raw in
            let type = model.base.outputs[next].elementType
            let quantization = type.isFloatingPoint ? nil : model.detection.quantization[rest.startIndex]
            var values: [Float] = []
            values.reserveCapacity(raw.count / max(1, type.byteCount))
            ElementConversion.read(raw, as: type) { _, value in values.append(quantization?(value) ?? Float(value)) }
            return values.withUnsafeBufferPointer { values in
                Result { () throws(EngineError) in
                    guard let tensor = OutputTensor(shape: shape.dimensions, values: values) else {
                        return []
                    }
                    return try read(rest.dropFirst(), tensors + [tensor], body)
                }
            }
        }
        return try outcome.get()
    }
}
