/// The preferred engine for a model.
public enum EnginePreference: String, Sendable, CaseIterable, Codable {
    /// OpenVINO, unless it cannot read the file or computes it wrongly: then the runtime of the file's own format.
    case auto
    case openvino
    case onnxruntime
    case litert
}

/// The goal of the engine's optimization.
public enum PerformanceHint: String, Sendable, CaseIterable {
    /// The shortest time of one prediction: all threads work on it.
    case latency
    /// The most predictions per second: several run in parallel.
    case throughput
}

/// The precision of the arithmetic inside a model.
public enum InferencePrecision: String, Sendable, CaseIterable {
    /// 32-bit floats: the same scores on every machine. The default.
    case float32 = "f32"
    /// bfloat16 if the processor supports it, otherwise 32-bit floats.
    case bfloat16 = "bf16"
    /// 16-bit floats if the processor supports them, otherwise 32-bit floats.
    case float16 = "f16"
    /// The engine's choice for this machine.
    case engine
}
