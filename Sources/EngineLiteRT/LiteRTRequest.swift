internal import CLiteRT
internal import EngineAPI

/// Runs one inference at a time, on its own thread.
///
/// `@unchecked Sendable`: the ownership rule of ``InferRequest`` keeps all calls except ``cancel()`` to one thread at a
/// time. Between a start and its completion the owner calls nothing else, and only the request's thread accesses the
/// state; the thread's semaphore passes it on. `cancel()` accesses only an atomic flag.
final class LiteRTRequest: InferRequest, @unchecked Sendable {
    private let model: LiteRTCompiledModel
    private let instance: LiteRTInstance
    private let thread: RequestThread
    private var tensors: [(any EngineTensor)?]
    /// The shapes of the inputs that the instance is prepared for; nil before the first inference.
    private var shapes: [Shape]?
    private var outputs: [LiteRTTensor] = []
    /// True once an inference with the current shapes has written all outputs.
    private var hasWritten = false
    private var failure: EngineError?

    init(_ model: LiteRTCompiledModel, _ instance: LiteRTInstance) throws(EngineError) {
        self.model = model
        self.instance = instance
        thread = try RequestThread()
        tensors = [(any EngineTensor)?](repeating: nil, count: model.inputs.count)
    }

    func setInput(_ index: Int, to tensor: any EngineTensor) throws(EngineError) {
        guard tensors.indices.contains(index), tensor is LiteRTTensor else {
            throw EngineError(kind: .failure, operation: "use an input", detail: "the tensor belongs to another engine")
        }
        // LiteRT does not check it.
        guard tensor.elementType == model.inputs[index].elementType else {
            throw EngineError(
                kind: .invalidInput, operation: model.inputs[index].name,
                detail: "it has \(tensor.elementType.rawValue) instead of \(model.inputs[index].elementType.rawValue)")
        }
        tensors[index] = tensor
    }

    // MARK: Running

    func start(completion: @escaping @Sendable () -> Void) throws(EngineError) {
        var inputs: [LiteRTTensor] = []
        for (index, tensor) in tensors.enumerated() {
            guard let tensor = tensor as? LiteRTTensor else {
                throw EngineError(
                    kind: .failure, operation: "start an inference",
                    detail: "input \"\(model.inputs[index].name)\" is not set")
            }
            inputs.append(tensor)
        }
        instance.isCancelled.isSet = false
        failure = nil
        thread.run { [inputs] in
            do throws(EngineError) { try self.compute(inputs) } catch { self.failure = error }
            completion()
        }
    }

    private func compute(_ inputs: [LiteRTTensor]) throws(EngineError) {
        let shapes = inputs.map(\.shape)
        if shapes != self.shapes { try prepare(for: shapes) }
        if hasWritten { try run(inputs) } else { try runFirst(inputs) }
    }

    private func run(_ inputs: [LiteRTTensor]) throws(EngineError) {
        var arguments: [OpaquePointer] = inputs.map(\.buffer), results: [OpaquePointer] = outputs.map(\.buffer)
        let status = arguments.withUnsafeMutableBufferPointer { arguments in
            results.withUnsafeMutableBufferPointer { results -> Int32 in
                // A model without inputs or outputs has no array.
                guard let first = arguments.baseAddress, let last = results.baseAddress else { return 1 }
                return instance.api.run(instance.pointer, 0, arguments.count, first, results.count, last)
            }
        }
        guard status == 0 else { throw error(status, "run the inference") }
    }

    /// Runs the first inference with the current shapes, and checks that it writes all outputs: one of computed shape
    /// is not written, with success, and fails in the second inference.
    private func runFirst(_ inputs: [LiteRTTensor]) throws(EngineError) {
        var unwritten: Int?
        // The second pattern tells such an output from values that equal the first one.
        for pattern in [0xA5, 0x5A] as [UInt8] {
            for output in outputs { _ = output.bytes.initializeMemory(as: UInt8.self, repeating: pattern) }
            do throws(EngineError) {
                try run(inputs)
            } catch {
                guard unwritten != nil, error.kind != .cancelled else { throw error }
                break
            }
            unwritten = outputs.firstIndex { !$0.bytes.isEmpty && $0.bytes.allSatisfy { $0 == pattern } }
            if unwritten == nil { break }
        }
        if let unwritten {
            throw EngineError(
                kind: .failure, operation: "read output \"\(model.outputs[unwritten].name)\"",
                detail: "its shape depends on the values, and LiteRT did not write it")
        }
        hasWritten = true
    }

    /// Prepares the instance, and memory for the outputs.
    private func prepare(for shapes: [Shape]) throws(EngineError) {
        // Until this succeeds the instance has no shapes.
        self.shapes = nil
        hasWritten = false
        outputs = []
        for (index, shape) in shapes.enumerated() {
            var layout = litert_layout()
            try LiteRTStatus.check("read a shape", instance.api.get_input_layout(instance.pointer, 0, index, &layout))
            guard layout.shape != shape else { continue }
            let extents = shape.dimensions.map { Int32(clamping: $0) }
            let status = instance.api.resize_input(instance.pointer, 0, index, extents, extents.count)
            guard status == 0 else { throw error(status, "change the shape of an input") }
        }
        var layouts = [litert_layout](repeating: litert_layout(), count: model.outputs.count)
        let status = instance.api.get_output_layouts(instance.pointer, 0, layouts.count, &layouts, true)
        guard status == 0 else { throw error(status, "compute the shapes of the outputs") }
        for (port, layout) in zip(model.outputs, layouts) {
            outputs.append(
                try LiteRTTensor(model.model.library, elementType: port.elementType, shape: layout.shape))
        }
        self.shapes = shapes
    }

    /// The error of a failed call. The kernels check extents and values: where callers choose a shape, such errors are
    /// theirs.
    private func error(_ status: Int32, _ operation: String) -> EngineError {
        let detail = instance.messages() ?? LiteRTStatus.text(status)
        if instance.isCancelled.isSet {
            return EngineError(kind: .cancelled, operation: operation, detail: "it was cancelled")
        }
        guard model.isOpen, let first = model.inputs.first else {
            return EngineError(kind: .failure, operation: operation, detail: "LiteRT: \(detail)")
        }
        let shapes = zip(model.inputs, tensors).map { "\"\($0.name)\" \($1?.shape.description ?? "")" }
        return EngineError(
            kind: .invalidInput, operation: first.name,
            detail: "the model does not take it: \(detail) (\(shapes.joined(separator: ", ")))")
    }

    func finish() throws(EngineError) {
        // Large inputs are not kept until the next inference.
        for index in tensors.indices { tensors[index] = nil }
        if let failure { throw failure }
    }

    func cancel() { instance.isCancelled.isSet = true }

    // MARK: Outputs

    func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R {
        guard outputs.indices.contains(index) else {
            throw EngineError(kind: .failure, operation: "read output \(index)", detail: "the model did not return it")
        }
        return body(outputs[index].shape, UnsafeRawBufferPointer(outputs[index].bytes))
    }

    func profile() throws(EngineError) -> [LayerProfile] { [] }
}
