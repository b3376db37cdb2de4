internal import COpenVINO
internal import EngineAPI
internal import Glibc
internal import SystemSupport

extension OpenVINOHandle {
    /// The properties that a model is compiled with, by OpenVINO's names. The handle must be a core's.
    func properties(_ options: CompileOptions) -> [(String, String)] {
        var properties = [("PERFORMANCE_HINT", options.hint == .latency ? "LATENCY" : "THROUGHPUT")]
        if let precision = precision(options) { properties.append(("INFERENCE_PRECISION_HINT", precision)) }
        if let threads = options.threads { properties.append(("INFERENCE_NUM_THREADS", String(threads))) }
        if let streams = options.streams { properties.append(("NUM_STREAMS", String(streams))) }
        if options.profiling { properties.append(("PERF_COUNT", "YES")) }
        return properties
    }

    /// The number of layers in each stream's LRU cache of layers that are prepared for different input sizes.
    /// OpenVINO's default is 5000.
    static func shapeCache(_ options: CompileOptions) -> (String, String) {
        // Measured: 40 to 85 KiB for a convolution.
        let bytesOfLayer = 96 << 10
        return ("CPU_RUNTIME_CACHE_CAPACITY", String(options.shapeMemory / bytesOfLayer / max(1, options.streams ?? 1)))
    }

    private func precision(_ options: CompileOptions) -> String? {
        switch options.precision.onDevice(with: capabilities(of: options.device)) {
        case .float32: "f32"
        case .bfloat16: "bf16"
        case .float16: "f16"
        case .engine: nil
        }
    }

    /// All options and properties of the machine that a compiled model depends on, in addition to its file, as text.
    /// Threads, streams and the hint are set when it is imported.
    func compilation(_ options: CompileOptions, inputs: [TensorPort]) -> String {
        let shapes = inputs.indices.map { "\(options.inputShapes[$0] ?? inputs[$0].shape)" }.joined(separator: " ")
        return "\(options.device) \(precision(options) ?? "engine's precision"), inputs \(shapes), on "
            + "\(property("FULL_DEVICE_NAME", of: options.device) ?? "") with "
            + "\(capabilities(of: options.device).joined(separator: " ")), "
            + "extensions \(Processor.usedInstructions)"
    }
}

/// Calls `body` with the pairs as C strings.
func withProperties(
    _ pairs: [(String, String)], _ body: (UnsafeBufferPointer<ov_property_t>) -> ov_status_e
) -> ov_status_e {
    // One buffer contains all strings, each with its NUL; the pointers are valid while it is borrowed.
    var text: [CChar] = []
    var offsets: [(key: Int, value: Int)] = []
    for (key, value) in pairs {
        let start = text.count
        text += key.utf8CString
        offsets.append((start, text.count))
        text += value.utf8CString
    }
    return text.withUnsafeBufferPointer { text in
        guard let base = text.baseAddress else { return body(UnsafeBufferPointer(start: nil, count: 0)) }
        let properties = offsets.map { offset in
            ov_property_t(key: base + offset.key, value: UnsafeRawPointer(base + offset.value))
        }
        return properties.withUnsafeBufferPointer(body)
    }
}
