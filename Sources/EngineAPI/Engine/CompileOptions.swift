/// The options for compiling a model.
public struct CompileOptions: Sendable, Hashable {
    /// The engine's name for the device: `CPU`, `AUTO`.
    public var device = "CPU"
    /// The goal of the optimization: latency or throughput.
    public var hint = PerformanceHint.throughput
    /// The number of the engine's worker threads for this model; nil uses the engine's default.
    public var threads: Int?
    /// The number of parallel predictions; nil uses the engine's default.
    public var streams: Int?
    /// The number of parallel predictions in an engine that runs each on one thread; nil uses ``streams``.
    public var streamsOfOneThread: Int?
    /// The precision of the arithmetic.
    public var precision = InferencePrecision.float32
    /// The folder of the cache of compiled models; nil disables the cache.
    public var cacheDirectory: String?
    /// True if an engine may keep the model file in memory to check the shapes that callers give to open axes, or to
    /// compile the model again after a failed inference.
    public var keepsModel = true
    /// The maximum size in bytes of the prepared data that the engine may keep for different input sizes, if shapes are
    /// known only when the model runs.
    public var shapeMemory = 32 << 20
    /// True if the engine measures each layer.
    public var profiling = false
    /// New shapes, by index of the input; their axes may be dynamic. Other inputs keep their shapes.
    public var inputShapes: [Int: Shape] = [:]

    /// The default options.
    public init() {}
}

extension InferencePrecision {
    /// The precision to request from a device: a 16-bit one only if its processor supports it, otherwise 32 bits.
    /// Without that support the engine would use 32-bit instructions and round to 16 bits (OpenVINO does so for bf16 on
    /// processors with AVX-512), which is slower and less exact.
    /// - Parameter capabilities: those of the device, as in ``ComputeDevice/capabilities``; empty if they are not
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
