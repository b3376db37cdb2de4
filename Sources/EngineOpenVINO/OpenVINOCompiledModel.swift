internal import COpenVINO
internal import EngineAPI
internal import Synchronization

/// A model compiled by OpenVINO.
final class OpenVINOCompiledModel: CompiledModel {
    /// The network that the infer requests run; nil if compiling it again failed.
    private let network: Mutex<OpenVINONetwork?>
    private let shapes: OpenVINOShapes?
    let inputs: [TensorPort]
    let outputs: [TensorPort]
    let optimalRequestCount: Int
    let loadedFromCache: Bool
    let executionDevices: String
    let execution: ExecutionProperties
    let shapeMemory: Int

    /// - Parameters:
    ///   - shapeMemory: the maximum size in bytes of the prepared data for different input sizes.
    ///   - shapes: the model that it was compiled from; nil if it is not kept.
    ///   - wasImported: whether it was imported from the cache.
    init(
        _ network: OpenVINONetwork, inputs: [TensorPort], outputs: [TensorPort], shapeMemory: Int = 0,
        shapes: OpenVINOShapes? = nil, wasImported: Bool = false
    ) {
        self.shapeMemory = network.isDynamic ? shapeMemory : 0
        self.network = Mutex(network)
        self.shapes = shapes
        self.inputs = inputs
        self.outputs = outputs
        let handle = network.handle
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
    }

    /// Stores the model in the cache. Blocks.
    func export(_ description: ExportedModel.Description, for key: ExportKey) {
        guard let handle = network.withLock({ $0?.handle }) else { return }
        ExportedModel.write(handle, description, for: key)
    }

    func check(_ shapes: [Int: Shape]) throws(EngineError) { try self.shapes?.check(shapes) }

    func makeRequest() throws(EngineError) -> any InferRequest {
        let result: Result<OpenVINONetwork, EngineError> = network.withLock { network in
            Result { () throws(EngineError) in
                if let network, network.isFit { return network }
                guard let shapes else {
                    throw EngineError(
                        kind: .failure, operation: "make an infer request",
                        detail: "an inference has failed, and the model cannot be compiled again")
                }
                // Release the network first, so that the new one can use its threads.
                network = nil
                let compiled = try shapes.compileAgain()
                network = compiled
                return compiled
            }
        }
        return try OpenVINORequest(try result.get())
    }

    func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor {
        try OpenVINOTensor(elementType: elementType, shape: shape)
    }
}
