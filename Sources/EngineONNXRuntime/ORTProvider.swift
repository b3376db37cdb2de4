internal import CONNXRuntime
internal import EngineAPI
internal import Synchronization
internal import SystemSupport

/// The device that a session runs on: the processor, or one NVIDIA graphics processor.
package enum ORTProvider: Hashable {
    case cpu
    case gpu(Int)

    /// ONNX Runtime's name of the provider for NVIDIA's graphics processors.
    static let cuda = "CUDAExecutionProvider"

    /// Parses the device of the setting or of `runtime.device` to providers in order of preference: `CPU`, `gpu:0`,
    /// `gpu,cpu`.
    /// - Throws: if it names another device.
    static func list(_ device: String) throws(EngineError) -> [ORTProvider] {
        var list: [ORTProvider] = []
        for part in device.split(separator: ",") {
            let name = part.filter { $0 != " " }.lowercased()
            if name == "cpu" || name == "auto" {
                list.append(.cpu)
            } else if name == "gpu" {
                list.append(.gpu(0))
            } else if name.hasPrefix("gpu:"), let number = Int(name.dropFirst(4)), (0..<64).contains(number) {
                list.append(.gpu(number))
            } else {
                throw EngineError(
                    kind: .invalidModel, operation: "run on the device \"\(device)\"",
                    detail:
                        "ONNX Runtime has the devices \"CPU\", \"gpu:0\" to \"gpu:63\", and lists of them in order, such as \"gpu,cpu\""
                )
            }
        }
        return list.isEmpty ? [.cpu] : list
    }

    /// True if only ONNX Runtime supports a device of the settings.
    package static func isGPU(_ device: String) -> Bool {
        device.split(separator: ",").contains { part in
            let name = part.filter { $0 != " " }.lowercased()
            return name == "gpu" || name.hasPrefix("gpu:")
        }
    }

    var name: String {
        switch self {
        case .cpu: "CPU"
        case .gpu(let number): "gpu:\(number)"
        }
    }

    /// The options of a session that uses this provider only: a node that it cannot run is an error, and is not
    /// silently run on another one.
    func options(
        _ library: ORTLibrary, threads: Int = 1, optimizes: Bool = true, exactProducts: Bool = false,
        profile: String? = nil
    ) throws(EngineError) -> ORTHandle {
        let api = library.api
        let options = ORTHandle(try library.make("make a session's options") { ort_create_session_options(api, &$0) }) {
            ort_release_session_options(api, $0)
        }
        // A positive number pins no threads; 0 would pin all threads, even to processors that this process may not use.
        try library.check(
            "set its threads", ort_set_intra_op_threads(api, options.pointer, Int32(clamping: max(1, threads))))
        func set(_ key: String, _ value: String) throws(EngineError) {
            try library.check("set \(key)", ort_add_session_config(api, options.pointer, key, value))
        }
        // Threads that spin while they wait take processor time from all other work.
        try set("session.intra_op.allow_spinning", "0")
        try set("session.inter_op.allow_spinning", "0")
        // The pattern stores a memory plan for each size of inputs; it is never released, and saves nothing here.
        try library.check("configure its memory", ort_disable_mem_pattern(api, options.pointer))
        // One limited arena for all sessions, instead of one each that never shrinks.
        try set("session.use_env_allocators", "1")
        // On processors without VNNI, products of unsigned by signed bytes would be added in 16 bits, and saturate:
        // a network of two convolutions was wrong by 17 % of its output's root mean square, and is by 1 % with this.
        if exactProducts { try set("session.x64quantprecision", "1") }
        if !optimizes {
            // ORT_DISABLE_ALL.
            try library.check("switch optimizations off", ort_set_optimization_level(api, options.pointer, 0))
        }
        if let profile { try library.check("measure its layers", ort_enable_profiling(api, options.pointer, profile)) }
        if case .gpu(let number) = self { try append(gpu: number, to: options, in: library) }
        return options
    }

    private func append(gpu number: Int, to options: ORTHandle, in library: ORTLibrary) throws(EngineError) {
        let api = library.api, operation = "use \(name)"
        guard try library.providers().contains(Self.cuda) else {
            throw EngineError(
                kind: .failure, operation: operation,
                detail:
                    "this ONNX Runtime (\(library.version)) is built without CUDA: set onnxruntime_path to a library of onnxruntime-gpu"
            )
        }
        try library.check(
            operation, ort_add_session_config(api, options.pointer, "session.disable_cpu_ep_fallback", "1"))
        let cuda = try library.make(operation) { ort_create_cuda_options(api, &$0) }
        defer { ort_release_cuda_options(api, cuda) }
        var entries = [("device_id", "\(number)"), ("arena_extend_strategy", "kSameAsRequested")]
        let maximum = ORTMemory.deviceLimit.load(ordering: .relaxed)
        if maximum > 0 { entries.append(("gpu_mem_limit", "\(maximum)")) }
        let status = CStrings.with(entries.map(\.0)) { keys in
            CStrings.with(entries.map(\.1)) { values in
                keys.withMemoryRebound(to: UnsafePointer<CChar>?.self, capacity: entries.count) { keys in
                    values.withMemoryRebound(to: UnsafePointer<CChar>?.self, capacity: entries.count) { values in
                        ort_update_cuda_options(api, cuda, keys, values, entries.count)
                    }
                }
            }
        }
        try library.check(operation, status)
        do throws(EngineError) {
            try library.check(operation, ort_append_cuda(api, options.pointer, cuda))
        } catch {
            // The library does not name the library that it could not load.
            throw EngineError(
                kind: .failure, operation: operation,
                detail:
                    "\(error.detail); it needs NVIDIA's driver, CUDA and cuDNN of the versions that onnxruntime-gpu \(library.version) names"
            )
        }
    }
}
