internal import COpenVINO

/// A model compiled by OpenVINO.
final class OpenVINOCompiledModel: CompiledModel {
    private let handle: OpenVINOHandle
    private let isDynamic: Bool
    private let shapes: OpenVINOShapes?
    let inputs: [TensorPort]
    let outputs: [TensorPort]
    let optimalRequestCount: Int
    let loadedFromCache: Bool
    let executionDevices: String
    let execution: ExecutionProperties
    /// Last: given back when the rest is.
    private let threads: OpenVINOThreads

    /// - Parameters:
    ///   - isDynamic: whether the shape of anything within the model is known only when it runs.
    ///   - shapes: what checks the shapes that callers bring; nil if they are not checked.
    ///   - wasImported: whether it was compiled before, and exported.
    ///
    /// Wide: the parts of a compiled model, each under its name.
    init(
        _ handle: OpenVINOHandle, inputs: [TensorPort], outputs: [TensorPort], isDynamic: Bool, shapes: OpenVINOShapes?,
        threads: OpenVINOThreads, wasImported: Bool = false
    ) throws(EngineError) {
        self.handle = handle
        self.isDynamic = isDynamic
        self.shapes = shapes
        self.inputs = inputs
        self.outputs = outputs
        func property(_ key: String) -> String? {
            var value: UnsafeMutablePointer<CChar>?
            guard ov_compiled_model_get_property(handle.pointer, key, &value) == OK, let value else { return nil }
            defer { ov_free(value) }
            return String(cString: value)
        }
        optimalRequestCount = max(1, property("OPTIMAL_NUMBER_OF_INFER_REQUESTS").flatMap { Int($0) } ?? 1)
        loadedFromCache = wasImported || property("LOADED_FROM_CACHE") == "YES"
        executionDevices = property("EXECUTION_DEVICES") ?? ""
        var execution = ExecutionProperties()
        execution.precision = property("INFERENCE_PRECISION_HINT")
        execution.hint = property("PERFORMANCE_HINT")
        execution.threads = property("INFERENCE_NUM_THREADS").flatMap { Int($0) }
        execution.streams = property("NUM_STREAMS").flatMap { Int($0) }
        self.execution = execution
        self.threads = threads
    }

    /// Puts the model into the cache. Blocks.
    func export(_ description: ExportedModel.Description, for key: ExportKey) {
        ExportedModel.write(handle, description, for: key)
    }

    func check(_ shapes: [Int: Shape]) throws(EngineError) { try self.shapes?.check(shapes) }

    func makeRequest() throws(EngineError) -> any InferRequest {
        try OpenVINORequest(
            .make("create an infer request", memory: handle.memory, free: ov_infer_request_free) {
                ov_compiled_model_create_infer_request(handle.pointer, &$0)
            }, canStopEarly: !isDynamic)
    }

    func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor {
        try OpenVINOTensor(elementType: elementType, shape: shape)
    }
}
