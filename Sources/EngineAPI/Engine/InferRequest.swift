/// The outputs of an inference, in the engine's memory.
public protocol EngineOutputs: Sendable {
    /// Calls `body` with the memory of an output after a successful inference; the memory is valid only during the
    /// call.
    func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R

    /// The value of an output that is not a tensor: a string, or a dictionary.
    func feature(_ index: Int) -> FeatureValue?
}

extension EngineOutputs {
    /// The default for engines that return only tensors.
    public func feature(_ index: Int) -> FeatureValue? { nil }
}

/// Runs one inference at a time. The holder owns it exclusively until it is returned to its pool.
public protocol InferRequest: AnyObject, EngineOutputs {
    /// Sets a tensor as an input of the next inference, without copying it; later inferences need not keep it.
    func setInput(_ index: Int, to tensor: any EngineTensor) throws(EngineError)

    /// Starts the inference and returns. If this does not throw, `completion` is called exactly once, on a thread of
    /// the engine; it must only notify another thread. After it, ``finish()`` reports the result.
    func start(completion: @escaping @Sendable () -> Void) throws(EngineError)

    /// Reports the result of the inference. Must be called once after the completion, and not within it. The request
    /// may be used again after this has returned or thrown.
    func finish() throws(EngineError)

    /// Releases the memory of outputs that the engine has allocated for the last inference. Must be called by the
    /// owner, once it reads them no more.
    func releaseOutputs()

    /// Asks the engine to stop early, without a guarantee: the completion is still called, and the inference may have
    /// succeeded.
    func cancel()

    /// False after an inference of the model has left data of this request in a state in which no answer can be
    /// trusted; a new request of the model can be created. Any thread may read it.
    var isFit: Bool { get }

    /// Replaces the thresholds of the model's non-maximum suppression for the next inference; a nil value uses that of
    /// the file. Has no effect if the model has no suppression, or the engine's graph computes it.
    func setDetectionThresholds(_ thresholds: DetectionThresholds)

    /// The time of each layer in the last inference, if the model was compiled with profiling.
    func profile() throws(EngineError) -> [LayerProfile]
}

extension InferRequest {
    /// The default for engines with requests that keep no data of an inference.
    public var isFit: Bool { true }

    /// The default for engines that write each inference's outputs to the same memory.
    public func releaseOutputs() {}

    /// The default for models without suppression.
    public func setDetectionThresholds(_ thresholds: DetectionThresholds) {}
}

/// The thresholds of a non-maximum suppression that a request sets; nil uses that of the model file.
public struct DetectionThresholds: Sendable, Hashable {
    /// The minimum confidence of a box.
    public var confidence: Float?
    /// The overlap (intersection over union) above which the weaker of two boxes is dropped.
    public var iou: Float?

    /// The values of the file.
    public init() {}
}

/// The time of one layer.
public struct LayerProfile: Sendable, Hashable {
    /// The layer's name, its operation, and the way the device executes it.
    public let name: String, type: String, execution: String
    /// Wall time in microseconds.
    public let microseconds: Int64

    /// The time of a layer with the given properties.
    public init(name: String, type: String, execution: String, microseconds: Int64) {
        self.name = name
        self.type = type
        self.execution = execution
        self.microseconds = microseconds
    }
}
