internal import COpenVINO

/// A model file read by OpenVINO.
final class OpenVINOModelFile: ModelFile {
    private let core: OpenVINOHandle
    private let model: OpenVINOHandle
    private let path: String
    let inputs: [TensorPort]
    let outputs: [TensorPort]
    let integerWeights: IntegerWeights?

    init(
        core: OpenVINOHandle, path: String, model: OpenVINOHandle, integerWeights: IntegerWeights? = nil
    ) throws(EngineError) {
        self.core = core
        self.integerWeights = integerWeights
        self.path = path
        self.model = model
        inputs = try Self.inputs(of: model)
        outputs = try Self.outputs(of: model)
    }

    func inputIndex(named name: String) -> Int? {
        if let index = index(named: name, among: inputs, find: ov_model_const_input_by_name) { return index }
        let key = SavedModelNames(folder: path)?.inputKey(of: name)
        return key.flatMap { index(named: $0, among: inputs, find: ov_model_const_input_by_name) }
    }

    func outputIndex(named name: String) -> Int? {
        if let index = index(named: name, among: outputs, find: ov_model_const_output_by_name) { return index }
        let key = SavedModelNames(folder: path)?.outputKey(of: name)
        return key.flatMap { index(named: $0, among: outputs, find: ov_model_const_output_by_name) }
    }

    /// OpenVINO finds a tensor by any of its names but reports only one of them, which leads to the index.
    private func index(
        named name: String, among ports: [TensorPort],
        find: (OpaquePointer?, UnsafePointer<CChar>?, UnsafeMutablePointer<OpaquePointer?>?) -> ov_status_e
    ) -> Int? {
        if let index = ports.firstIndex(where: { $0.name == name }) { return index }
        var port: OpaquePointer?
        guard find(model.pointer, name, &port) == OK, let port else { return nil }
        defer { ov_output_const_port_free(port) }
        guard let found = try? TensorPort(port: port, what: name) else { return nil }
        return ports.firstIndex { $0.name == found.name }
    }

    func compile(_ options: CompileOptions) throws(EngineError) -> any CompiledModel {
        try OpenVINOShapes.reshape(model, to: options.inputShapes)
        if let constants = model.constants {
            // What the engine would keep is the constants once more, on disk and then in memory, and compiling from that takes as
            // long: nearly all of the time goes into arranging the weights, which it does either way.
            var uncached = options
            uncached.cacheDirectory = nil
            return try constants.givingBackPages { () throws(EngineError) in try compileOnce(uncached) }
        }
        do throws(EngineError) {
            return try compileOnce(options)
        } catch {
            guard options.cacheDirectory != nil, error.kind != .noThreads else { throw error }
            // A cache that cannot be read or written must not keep a model from being served: once more without it.
            var uncached = options
            uncached.cacheDirectory = nil
            return try compileOnce(uncached)
        }
    }

    private func compileOnce(_ options: CompileOptions) throws(EngineError) -> OpenVINOCompiledModel {
        let threads = try OpenVINOThreads(for: options)
        var properties = [("PERFORMANCE_HINT", options.hint == .latency ? "LATENCY" : "THROUGHPUT")]
        switch options.precision.onDevice(with: core.capabilities(of: options.device)) {
        case .float32: properties.append(("INFERENCE_PRECISION_HINT", "f32"))
        case .bfloat16: properties.append(("INFERENCE_PRECISION_HINT", "bf16"))
        case .float16: properties.append(("INFERENCE_PRECISION_HINT", "f16"))
        case .engine: break
        }
        if let threads = options.threads { properties.append(("INFERENCE_NUM_THREADS", String(threads))) }
        if let streams = options.streams { properties.append(("NUM_STREAMS", String(streams))) }
        if let directory = options.cacheDirectory { properties.append(("CACHE_DIR", directory)) }
        if options.profiling { properties.append(("PERF_COUNT", "YES")) }
        let compiled = try OpenVINOHandle.make(
            "compile the model for \(options.device)", kind: .invalidModel, constants: model.constants,
            free: ov_compiled_model_free
        ) { pointer in
            withProperties(properties) {
                ov_core_compile_model_props(
                    core.pointer, model.pointer, options.device, $0.count, $0.baseAddress, &pointer)
            }
        }
        threads.started()
        let inputs = try Self.inputs(of: model)
        let bringsShapes = options.checksShapes && inputs.contains { !$0.shape.isStatic }
        return try OpenVINOCompiledModel(
            compiled, inputs: inputs, outputs: Self.outputs(of: model),
            isDynamic: ov_model_is_dynamic(model.pointer), shapes: bringsShapes ? OpenVINOShapes(model) : nil,
            threads: threads)
    }

    /// Lends the pairs out as C strings.
    private func withProperties(
        _ pairs: [(String, String)], _ body: (UnsafeBufferPointer<ov_property_t>) -> ov_status_e
    ) -> ov_status_e {
        // One buffer of all strings, each with its NUL; the pointers hold while it is lent.
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

    private static func inputs(of model: OpenVINOHandle) throws(EngineError) -> [TensorPort] {
        try ports(of: model, what: "input", count: ov_model_inputs_size, port: ov_model_const_input_by_index)
    }

    private static func outputs(of model: OpenVINOHandle) throws(EngineError) -> [TensorPort] {
        try ports(of: model, what: "output", count: ov_model_outputs_size, port: ov_model_const_output_by_index)
    }

    private static func ports(
        of model: OpenVINOHandle,
        what: String,
        count: (OpaquePointer?, UnsafeMutablePointer<Int>?) -> ov_status_e,
        port: (OpaquePointer?, Int, UnsafeMutablePointer<OpaquePointer?>?) -> ov_status_e
    ) throws(EngineError) -> [TensorPort] {
        var size = 0
        try checked("count the model's \(what)s") { count(model.pointer, &size) }
        var ports: [TensorPort] = []
        for index in 0..<size {
            let handle = try OpenVINOHandle.make("find \(what) \(index)", free: ov_output_const_port_free) {
                port(model.pointer, index, &$0)
            }
            ports.append(try TensorPort(port: handle.pointer, what: "\(what) \(index)"))
        }
        return ports
    }
}
