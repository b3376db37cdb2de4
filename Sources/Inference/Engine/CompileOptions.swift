/// The options for compiling a model.
public struct CompileOptions: Sendable, Hashable {
    /// The engine's name of the device: `CPU`, `AUTO`.
    public var device = "CPU"
    /// The goal to optimise for: latency or throughput.
    public var hint = PerformanceHint.throughput
    /// Worker threads of the engine for this model; nil leaves it to the engine.
    public var threads: Int?
    /// Parallel predictions; nil leaves it to the engine.
    public var streams: Int?
    /// Parallel predictions in an engine that runs each on one thread; nil if they are as many as ``streams``.
    public var streamsOfOneThread: Int?
    /// The precision of the arithmetic.
    public var precision = InferencePrecision.float32
    /// The cache of compiled models; nil for none.
    public var cacheDirectory: String?
    /// True if an engine that has to check the shapes that callers bring to open axes, or to compile the model again
    /// when an inference has failed, keeps the model for that.
    public var keepsModel = true
    /// Bytes that the engine may keep of what it prepares for each size of inputs, where shapes are known only when the
    /// model runs.
    public var shapeMemory = 32 << 20
    /// True if the engine measures each layer.
    public var profiling = false
    /// New shapes by index of the input; their axes may be dynamic. Inputs that are not listed keep their shapes.
    public var inputShapes: [Int: Shape] = [:]

    /// The defaults.
    public init() {}
}

/// The goal that the engine optimises for.
public enum PerformanceHint: String, Sendable, CaseIterable {
    /// The shortest time of one prediction: all threads work on it.
    case latency
    /// The most predictions a second: several run in parallel.
    case throughput
}

/// The precision of the arithmetic inside a model.
public enum InferencePrecision: String, Sendable, CaseIterable {
    /// 32-bit floats: the same scores on every machine. The default.
    case float32 = "f32"
    /// 16-bit brain floats where the processor has them, 32-bit floats elsewhere.
    case bfloat16 = "bf16"
    /// 16-bit floats where the processor has them, 32-bit floats elsewhere.
    case float16 = "f16"
    /// The engine's choice for this machine.
    case engine

    /// The precision that a device is asked for: a 16-bit one where its processor has it, and otherwise 32 bits. The
    /// engine would round to 16 bits by instructions of 32 bits there (OpenVINO does for bf16 on processors with
    /// AVX-512): neither as fast nor as exact.
    /// - Parameter capabilities: of the device, as ``ComputeDevice/capabilities`` has them; empty if they are not
    ///   known.
    package func onDevice(with capabilities: [String]) -> InferencePrecision {
        let name: String
        switch self {
        case .bfloat16: name = "BF16"
        case .float16: name = "FP16"
        case .float32, .engine: return self
        }
        return capabilities.isEmpty || capabilities.contains(name) ? self : .float32
    }
}
