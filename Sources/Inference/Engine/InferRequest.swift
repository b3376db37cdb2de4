/// The outputs of an inference, in the engine's memory.
public protocol EngineOutputs: Sendable {
    /// Calls `body` with the memory of an output after a successful inference; valid only meanwhile.
    func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R

    /// The value of an output that is not a tensor: a string, or a dictionary.
    func feature(_ index: Int) -> FeatureValue?
}

extension EngineOutputs {
    /// Most engines know tensors only.
    public func feature(_ index: Int) -> FeatureValue? { nil }
}

/// Runs one inference at a time. The holder owns it exclusively until it is returned to its pool.
public protocol InferRequest: AnyObject, EngineOutputs {
    /// Takes a tensor as an input, without copying it.
    func setInput(_ index: Int, to tensor: any EngineTensor) throws(EngineError)

    /// Starts the inference and returns. `completion` is called exactly once if this does not throw, on a thread of the
    /// engine, and must only pass the word on. After it, ``finish()`` reports how the inference ended.
    func start(completion: @escaping @Sendable () -> Void) throws(EngineError)

    /// To be called once after the completion, outside it: how the inference ended. The request may be used again when
    /// this has returned or thrown.
    func finish() throws(EngineError)

    /// Asks the engine to stop early: best effort. The completion still comes, and the inference may well have ended.
    func cancel()

    /// False from when an inference of the model has left what this request computes with in a state that no answer can
    /// be trusted from; a new request of the model can be made. May be asked by any thread.
    var isFit: Bool { get }

    /// Replaces the thresholds of the suppression that the model ends with, for the next inference: of each that is
    /// nil, the file's own applies. Does nothing where the model has none, or the engine's graph computes it.
    func setDetectionThresholds(_ thresholds: DetectionThresholds)

    /// The time of each layer of the last inference, where the model was compiled with profiling.
    func profile() throws(EngineError) -> [LayerProfile]
}

extension InferRequest {
    /// Most engines keep nothing of an inference.
    public var isFit: Bool { true }

    /// Most models do not suppress boxes.
    public func setDetectionThresholds(_ thresholds: DetectionThresholds) {}
}

/// The thresholds of a non-maximum suppression that a request chooses; nil for the model file's own.
public struct DetectionThresholds: Sendable, Hashable {
    /// The least confidence of a box.
    public var confidence: Float?
    /// The overlap (intersection over union) above which the weaker of two boxes is dropped.
    public var iou: Float?

    /// The file's own.
    public init() {}
}

/// The time that one layer took.
public struct LayerProfile: Sendable, Hashable {
    /// The layer's name, its operation, and how the device executes it.
    public let name: String, type: String, execution: String
    /// Wall time in microseconds.
    public let microseconds: Int64

    /// One layer.
    public init(name: String, type: String, execution: String, microseconds: Int64) {
        self.name = name
        self.type = type
        self.execution = execution
        self.microseconds = microseconds
    }
}
