import COpenVINO
import CoreMLImport

/// Runs a graph in the engine: written as IR, read from memory, compiled for the CPU in f32.
final class GraphRunner {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// Numbers of any element type, as doubles.
    struct Array: Equatable {
        var shape: [Int]
        var values: [Double]
    }

    private let graph: Graph
    private var core: OpaquePointer?
    private var model: OpaquePointer?
    private var compiled: OpaquePointer?
    private let weights: Bytes

    init(_ graph: Graph) throws {
        self.graph = graph
        let writer = IRWriter(graph)
        weights = writer.weights()
        try check("create the core", ov_core_create(&core))
        let xml = writer.xml()
        let status = weights.withUnsafeBytes { memory in
            var extent = Int64(memory.count)
            return withUnsafeMutablePointer(to: &extent) { dimensions in
                var tensor: OpaquePointer?
                let shape = ov_shape_t(rank: 1, dims: dimensions)
                ov_tensor_create_from_host_ptr(
                    U8, shape, UnsafeMutableRawPointer(mutating: memory.baseAddress), &tensor)
                defer { ov_tensor_free(tensor) }
                return xml.withUnsafeBytes { text in
                    ov_core_read_model_from_memory_buffer(
                        core, text.bindMemory(to: CChar.self).baseAddress, text.count, tensor, &model)
                }
            }
        }
        try check("read the graph", status)
        let precision = ("INFERENCE_PRECISION_HINT", "f32")
        try check(
            "compile the graph",
            precision.0.withCString { key in
                precision.1.withCString { value in
                    var property = ov_property_t(key: key, value: UnsafeRawPointer(value))
                    return withUnsafePointer(to: &property) {
                        ov_core_compile_model_props(core, model, "CPU", 1, $0, &compiled)
                    }
                }
            })
    }

    deinit {
        ov_compiled_model_free(compiled)
        ov_model_free(model)
        ov_core_free(core)
    }

    /// Runs the graph; returns the results by name. The numbers of an input must fill its parameter's shape, or their
    /// own shape if the parameter's is open.
    func run(_ inputs: [String: Array]) throws -> [String: Array] {
        var request: OpaquePointer?
        try check("create a request", ov_compiled_model_create_infer_request(compiled, &request))
        defer { ov_infer_request_free(request) }
        for parameter in graph.parameters {
            guard let input = inputs[parameter.name] else {
                throw Failure(description: "no input \"\(parameter.name)\"")
            }
            let known = parameter.shape.compactMap { $0 }
            let tensor = try tensor(
                parameter.type, shape: known.count == parameter.shape.count ? known : input.shape, values: input.values)
            defer { ov_tensor_free(tensor) }
            try check("set \(parameter.name)", ov_infer_request_set_tensor(request, parameter.name, tensor))
        }
        try check("run", ov_infer_request_infer(request))
        var results: [String: Array] = [:]
        for result in graph.results {
            var tensor: OpaquePointer?
            try check("find \(result.name)", ov_infer_request_get_tensor(request, result.name, &tensor))
            defer { ov_tensor_free(tensor) }
            results[result.name] = try array(tensor)
        }
        return results
    }

    private func tensor(_ type: Graph.ElementType, shape: [Int], values: [Double]) throws -> OpaquePointer? {
        guard shape.reduce(1, *) == values.count else {
            throw Failure(description: "\(values.count) values for the shape \(shape)")
        }
        let elements: [ov_element_type_e] = [F32, I32, I64, U8]
        let kinds: [Graph.ElementType] = [.f32, .i32, .i64, .u8]
        guard let kind = kinds.firstIndex(of: type) else { throw Failure(description: "inputs of type \(type)") }
        var tensor: OpaquePointer?
        var dimensions = shape.map { Int64($0) }
        try check(
            "create a tensor",
            dimensions.withUnsafeMutableBufferPointer {
                ov_tensor_create(elements[kind], ov_shape_t(rank: Int64(shape.count), dims: $0.baseAddress), &tensor)
            })
        var data: UnsafeMutableRawPointer?
        try check("find the tensor's memory", ov_tensor_data(tensor, &data))
        guard let data else { return tensor }
        for (index, value) in values.enumerated() {
            switch type {
            case .f32: data.storeBytes(of: Float(value), toByteOffset: index * 4, as: Float.self)
            case .i32: data.storeBytes(of: Int32(value), toByteOffset: index * 4, as: Int32.self)
            case .i64: data.storeBytes(of: Int64(value), toByteOffset: index * 8, as: Int64.self)
            default: data.storeBytes(of: UInt8(value), toByteOffset: index, as: UInt8.self)
            }
        }
        return tensor
    }

    private func array(_ tensor: OpaquePointer?) throws -> Array {
        var shape = ov_shape_t()
        try check("find a result's shape", ov_tensor_get_shape(tensor, &shape))
        defer { ov_shape_free(&shape) }
        var type = F32
        try check("find a result's type", ov_tensor_get_element_type(tensor, &type))
        var data: UnsafeMutableRawPointer?
        try check("find a result's memory", ov_tensor_data(tensor, &data))
        let extents = (0..<Int(shape.rank)).map { Int(shape.dims[$0]) }
        guard let data else { return Array(shape: extents, values: []) }
        let values = try (0..<extents.reduce(1, *)).map { index in
            switch type {
            case F32: Double(data.load(fromByteOffset: index * 4, as: Float.self))
            case I32: Double(data.load(fromByteOffset: index * 4, as: Int32.self))
            case I64: Double(data.load(fromByteOffset: index * 8, as: Int64.self))
            case OV_BOOLEAN, U8: Double(data.load(fromByteOffset: index, as: UInt8.self))
            default: throw Failure(description: "a result of the element type \(type)")
            }
        }
        return Array(shape: extents, values: values)
    }

    private func check(_ action: String, _ status: ov_status_e) throws {
        guard status != OK else { return }
        let message = ov_get_last_err_msg().map { String(cString: $0) } ?? "status \(status.rawValue)"
        throw Failure(description: "\(action): \(message)")
    }
}
