/// What runs models. One implementation is OpenVINO; another engine is one more file, and tests bring one that they
/// control.
public protocol Engine: AnyObject, Sendable {
    /// The name and version, for the log and the report.
    var version: String { get }

    /// The devices that models can be compiled for. Blocks for as long as the engine needs to look.
    func availableDevices() throws(EngineError) -> [ComputeDevice]

    /// Reads a model file. Blocks for as long as that takes.
    func read(_ source: ModelSource) throws(EngineError) -> any ModelFile
}

/// A model file that was read: what it takes and gives is known, nothing is compiled yet.
public protocol ModelFile: Sendable {
    /// What it takes, in the file's order.
    var inputs: [TensorPort] { get }
    /// What it gives, in the file's order.
    var outputs: [TensorPort] { get }

    /// The index of the input of a name; a file may give one tensor several names.
    func inputIndex(named name: String) -> Int?
    /// The index of the output of a name.
    func outputIndex(named name: String) -> Int?

    /// Compiles the model; to be called once. Blocks: for seconds where a large model is not in the cache.
    func compile(_ options: CompileOptions) throws(EngineError) -> any CompiledModel
}

/// Where a model is.
public struct ModelSource: Sendable, Hashable {
    /// The file, or for TensorFlow the SavedModel's folder.
    public let path: String

    /// A model at a path.
    public init(path: String) {
        self.path = path
    }
}

/// How a model is compiled.
public struct CompileOptions: Sendable, Hashable {
    /// The engine's name of the device: `CPU`, `AUTO`.
    public var device = "CPU"
    /// Whether one prediction's latency or many predictions' throughput counts.
    public var hint = PerformanceHint.throughput
    /// Worker threads of the engine for this model; nil leaves it to the engine.
    public var threads: Int?
    /// Predictions that run side by side; nil leaves it to the engine.
    public var streams: Int?
    /// The precision of the arithmetic.
    public var precision = InferencePrecision.float32
    /// Where compiled models are kept for the next start; nil keeps none.
    public var cacheDirectory: String?
    /// Whether callers bring shapes to axes that are open, which are checked then: the engine keeps the model for it.
    public var checksShapes = true
    /// Whether the engine measures each layer.
    public var profiling = false
    /// New shapes by the index of the input, whose axes may be dynamic; inputs that are not named keep theirs.
    public var inputShapes: [Int: Shape] = [:]

    /// The defaults.
    public init() {}
}

/// What the engine is to be good at.
public enum PerformanceHint: String, Sendable, CaseIterable {
    /// The shortest time of one prediction: all threads work on it.
    case latency
    /// The most predictions a second: several run side by side.
    case throughput
}

/// The precision of the arithmetic inside a model.
public enum InferencePrecision: String, Sendable, CaseIterable {
    /// 32-bit floats: the same scores on every machine. The default.
    case float32 = "f32"
    /// 16-bit brain floats, where the processor has them.
    case bfloat16 = "bf16"
    /// 16-bit floats, where the processor has them.
    case float16 = "f16"
    /// What the engine thinks best on this machine.
    case engine
}

/// An input or output of a model file.
public struct TensorPort: Sendable, Hashable {
    /// The tensor's name; empty where the file gives none.
    public let name: String
    /// The type of the elements.
    public let elementType: ElementType
    /// The shape; dynamic axes are ``Shape/dynamic``.
    public let shape: Shape

    /// An input or output.
    public init(name: String, elementType: ElementType, shape: Shape) {
        self.name = name
        self.elementType = elementType
        self.shape = shape
    }
}

/// A model that is ready to run.
public protocol CompiledModel: Sendable {
    /// What it takes, in the file's order.
    var inputs: [TensorPort] { get }
    /// What it gives, in the file's order.
    var outputs: [TensorPort] { get }
    /// How many requests in flight keep the device busy.
    var optimalRequestCount: Int { get }
    /// Whether it came from the cache of compiled models.
    var loadedFromCache: Bool { get }
    /// The devices that it runs on.
    var executionDevices: String { get }
    /// How it runs there.
    var execution: ExecutionProperties { get }

    /// Checks, before an inference, whether the model takes these shapes of inputs whose axes are open. A moment's work for
    /// shapes that were not checked before.
    /// - Parameter shapes: by the index of the input; every axis fixed.
    func check(_ shapes: [Int: Shape]) throws(EngineError)

    /// Makes one request: the room for one inference at a time.
    func makeRequest() throws(EngineError) -> any InferRequest

    /// Makes a tensor in memory that the engine reads without copying.
    func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor
}

extension CompiledModel {
    /// An engine need not tell.
    public var execution: ExecutionProperties { ExecutionProperties() }

    /// An engine may leave it to the inference.
    public func check(_ shapes: [Int: Shape]) throws(EngineError) {}
}

/// Memory of the engine for one input.
///
/// The owner writes into it, sets it as the input of a request, and leaves it alone until that request has completed.
public protocol EngineTensor: AnyObject, Sendable {
    /// The type of the elements.
    var elementType: ElementType { get }
    /// The shape; every axis fixed.
    var shape: Shape { get }
    /// The memory: valid as long as the tensor is.
    var bytes: UnsafeMutableRawBufferPointer { get }
}

extension EngineTensor {
    /// Fills the memory with zeros. (What was never written may be numbers that make slow arithmetic.)
    func zero() { _ = bytes.initializeMemory(as: UInt8.self, repeating: 0) }
}

/// What an inference gave, in the engine's memory.
public protocol EngineOutputs: Sendable {
    /// Calls `body` with the memory of an output after a successful inference; valid only meanwhile.
    func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R
}

/// The room for one inference at a time. Whoever took it from its pool owns it alone until it is given back.
public protocol InferRequest: AnyObject, EngineOutputs {
    /// Takes a tensor as an input, without copying it.
    func setInput(_ index: Int, to tensor: any EngineTensor) throws(EngineError)

    /// Starts the inference and returns. `completion` is called exactly once if this does not throw, on a thread of the
    /// engine, and must only pass the word on. After it, ``finish()`` tells how the inference ended.
    func start(completion: @escaping @Sendable () -> Void) throws(EngineError)

    /// To be called once after the completion, outside it: how the inference ended. The request may be used again when
    /// this has returned or thrown.
    func finish() throws(EngineError)

    /// Asks the engine to stop early: best effort. The completion still comes, and the inference may well have ended.
    func cancel()

    /// The time of each layer of the last inference, where the model was compiled with profiling.
    func profile() throws(EngineError) -> [LayerProfile]
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
