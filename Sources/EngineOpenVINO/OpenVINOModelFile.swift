internal import COpenVINO
internal import EngineAPI
internal import Synchronization

/// A model file read by OpenVINO.
final class OpenVINOModelFile: ModelFile {
    private let core: OpenVINOHandle
    private let model: OpenVINOHandle
    private let path: String
    let inputs: [TensorPort]
    let outputs: [TensorPort]
    let integerWeights: IntegerWeights?
    var digest: String? { export?.name }
    /// The key of the compiled model in the cache; nil if the engine's own cache is used.
    private let export: ExportKey?
    /// The indices of tensors that were looked up by another of their names.
    private let otherNames = Mutex((inputs: [String: Int](), outputs: [String: Int]()))

    init(
        core: OpenVINOHandle, path: String, model: OpenVINOHandle, integerWeights: IntegerWeights? = nil,
        export: ExportKey? = nil
    ) throws(EngineError) {
        self.core = core
        self.export = export
        self.integerWeights = integerWeights
        self.path = path
        self.model = model
        inputs = try Self.inputs(of: model)
        outputs = try Self.outputs(of: model)
    }

    func inputIndex(named name: String) -> Int? {
        if let index = inputs.firstIndex(where: { $0.name == name }) { return index }
        let index = index(ofOther: name, among: inputs, find: ov_model_const_input_by_name) {
            SavedModelNames(folder: path)?.inputKey(of: name)
        }
        if let index { otherNames.withLock { $0.inputs[name] = index } }
        return index
    }

    func outputIndex(named name: String) -> Int? {
        if let index = outputs.firstIndex(where: { $0.name == name }) { return index }
        let index = index(ofOther: name, among: outputs, find: ov_model_const_output_by_name) {
            SavedModelNames(folder: path)?.outputKey(of: name)
        }
        if let index { otherNames.withLock { $0.outputs[name] = index } }
        return index
    }

    private func index(
        ofOther name: String, among ports: [TensorPort],
        find: (OpaquePointer?, UnsafePointer<CChar>?, UnsafeMutablePointer<OpaquePointer?>?) -> ov_status_e,
        key: () -> String?
    ) -> Int? {
        if let index = index(named: name, among: ports, find: find) { return index }
        return key().flatMap { index(named: $0, among: ports, find: find) }
    }

    /// The index of a tensor by any of its names. OpenVINO finds a tensor by each name but reports only one of them,
    /// which gives the index.
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
            // The engine would store the constants again, on disk and then in memory, and compiling from the cache
            // would take as long: nearly all of the time is spent on rearranging the weights, which is done in both
            // cases.
            var uncached = options
            uncached.cacheDirectory = nil
            return try constants.releasingPages { () throws(EngineError) in try compileOnce(uncached) }
        }
        if try Self.inputs(of: model).contains(where: { !$0.shape.isStatic }) {
            // The engine's own cache has returned recurrent networks with an open axis that compute other answers.
            var uncached = options
            uncached.cacheDirectory = nil
            return try compileOnce(uncached)
        }
        if options.cacheDirectory != nil, let export, options.device == "CPU", !ov_model_is_dynamic(model.pointer) {
            var unkept = options
            unkept.cacheDirectory = nil
            let compiled = try compileOnce(unkept)
            compiled.export(describe(options, compiled), for: export)
            return compiled
        }
        do throws(EngineError) {
            return try compileOnce(options)
        } catch {
            guard options.cacheDirectory != nil, error.kind != .noThreads else { throw error }
            // An unusable cache must not prevent a model from being served: compile again without it.
            var uncached = options
            uncached.cacheDirectory = nil
            return try compileOnce(uncached)
        }
    }

    /// The metadata of the compiled model, for the cache.
    private func describe(
        _ options: CompileOptions, _ compiled: OpenVINOCompiledModel
    ) -> ExportedModel.Description {
        let names = otherNames.withLock { $0 }
        return ExportedModel.Description(
            inputs: inputs.map { .init($0) }, outputs: outputs.map { .init($0) },
            compiledInputs: compiled.inputs.map { .init($0) }, compiledOutputs: compiled.outputs.map { .init($0) },
            inputNames: names.inputs, outputNames: names.outputs, integerWeights: integerWeights,
            compilation: core.compilation(options, inputs: inputs))
    }

    private func compileOnce(_ options: CompileOptions) throws(EngineError) -> OpenVINOCompiledModel {
        let network = try Self.network(of: model, core: core, options)
        let inputs = try Self.inputs(of: model), outputs = try Self.outputs(of: model)
        guard network.isDynamic, options.keepsModel else {
            return OpenVINOCompiledModel(network, inputs: inputs, outputs: outputs, shapeMemory: options.shapeMemory)
        }
        let shapes = OpenVINOShapes(model, inputs: inputs) { [core] (model) throws(EngineError) in
            try Self.network(of: model, core: core, options)
        }
        return OpenVINOCompiledModel(
            network, inputs: inputs, outputs: outputs, shapeMemory: options.shapeMemory, shapes: shapes)
    }

    private static func network(
        of model: OpenVINOHandle, core: OpenVINOHandle, _ options: CompileOptions
    ) throws(EngineError) -> OpenVINONetwork {
        let threads = try OpenVINOThreads(for: options)
        let isDynamic = ov_model_is_dynamic(model.pointer)
        var properties = core.properties(options)
        if isDynamic, options.device == "CPU" { properties.append(OpenVINOHandle.shapeCache(options)) }
        if let directory = options.cacheDirectory { properties.append(("CACHE_DIR", directory)) }
        let compiled = try OpenVINOHandle.make(
            "compile the model for \(options.device)", kind: .invalidModel, memory: model.memory,
            free: ov_compiled_model_free
        ) { pointer in
            withProperties(properties) {
                ov_core_compile_model_props(
                    core.pointer, model.pointer, options.device, $0.count, $0.baseAddress, &pointer)
            }
        }
        threads.started()
        return OpenVINONetwork(compiled, isDynamic: isDynamic, threads: threads)
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
