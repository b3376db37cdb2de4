internal import CONNXRuntime
internal import EngineAPI
internal import Synchronization

/// Runs one inference at a time, on its own thread.
///
/// `@unchecked Sendable`: the ownership rule of ``InferRequest`` keeps all calls except ``cancel()`` to one thread at a
/// time. Between a start and its completion the owner calls nothing else, and only the request's thread accesses the
/// state; the thread's semaphore passes it on. `cancel()` accesses only the atomic and the run's options, whose flag
/// any thread may set.
final class ORTRequest: InferRequest, @unchecked Sendable {
    private let model: ORTCompiledModel
    private let thread: RequestThread
    private let options: ORTHandle
    /// Releases the memory of an inference; nil for models with fixed shapes, which need the same each time.
    private let trim: ORTArenaTrim?
    private let isCancelled = Atomic(false)
    private var tensors: [(any EngineTensor)?]
    /// Memory for each output of known shape; nil for outputs that ONNX Runtime allocates.
    private var places: [ORTTensor?]
    /// The outputs of the last run.
    private var results: [ORTHandle?]
    private var failure: EngineError?

    private var library: ORTLibrary { model.session.library }
    private var api: UnsafePointer<ort_api> { library.api }

    init(_ model: ORTCompiledModel) throws(EngineError) {
        self.model = model
        let library = model.session.library
        thread = try RequestThread()
        options = ORTHandle(try library.make("make a run's options") { ort_create_run_options(library.api, &$0) }) {
            ort_release_run_options(library.api, $0)
        }
        // The memory of a large input is not kept for smaller ones after it.
        trim = model.isOpen ? try library.arenaTrim() : nil
        tensors = [(any EngineTensor)?](repeating: nil, count: model.inputs.count)
        results = [ORTHandle?](repeating: nil, count: model.outputs.count)
        var places: [ORTTensor?] = []
        for (port, form) in zip(model.outputs, model.forms) {
            guard case .tensor = form, port.shape.isStatic, !model.isOpen, !model.hasOtherShapes else {
                places.append(nil)
                continue
            }
            places.append(try ORTTensor(library, elementType: port.elementType, shape: port.shape))
        }
        self.places = places
    }

    func setInput(_ index: Int, to tensor: any EngineTensor) throws(EngineError) {
        guard tensors.indices.contains(index), tensor is ORTTensor || tensor is StringTensor else {
            throw EngineError(kind: .failure, operation: "use an input", detail: "the tensor belongs to another engine")
        }
        tensors[index] = tensor
    }

    // MARK: Running

    func start(completion: @escaping @Sendable () -> Void) throws(EngineError) {
        if let missing = tensors.firstIndex(where: { $0 == nil }) {
            throw EngineError(
                kind: .failure, operation: "start an inference",
                detail: "input \"\(model.inputs[missing].name)\" is not set")
        }
        isCancelled.store(false, ordering: .relaxed)
        // The flag of a previous cancellation would stop this run.
        try library.check("start an inference", ort_unset_terminate(api, options.pointer))
        failure = nil
        results = [ORTHandle?](repeating: nil, count: results.count)
        thread.run {
            do throws(EngineError) { try self.compute() } catch { self.failure = error }
            completion()
        }
    }

    private func compute() throws(EngineError) {
        var made: [ORTHandle] = []
        var inputs: [OpaquePointer?] = []
        for tensor in tensors {
            if let tensor = tensor as? ORTTensor {
                inputs.append(tensor.value.pointer)
            } else if let tensor = tensor as? StringTensor {
                let value = try library.value(of: tensor.value)
                made.append(value)
                inputs.append(value.pointer)
            }
        }
        var failed = withExtendedLifetime(made) { run(inputs) }
        if let message = failed?.message, ORTMessage.isOfOutputShape(message), places.contains(where: { $0 != nil }) {
            // The file declares another shape than its operators compute.
            model.hasOtherShapes = true
            places = [ORTTensor?](repeating: nil, count: places.count)
            failed = withExtendedLifetime(made) { run(inputs) }
        }
        if let failed { throw error(failed.code, failed.message) }
    }

    /// Runs the graph, and takes the outputs that ONNX Runtime has allocated.
    private func run(_ inputs: [OpaquePointer?]) -> (code: Int32, message: String)? {
        var outputs = places.map { $0?.value.pointer }
        let status = ort_run(
            api, model.session.handle.pointer, options.pointer, model.inputNames.pointers, inputs, inputs.count,
            model.outputNames.pointers, outputs.count, &outputs)
        let failed = library.take(status)
        for (index, output) in outputs.enumerated() where places[index] == nil {
            guard let output else { continue }
            results[index] = ORTHandle(output) { [api] in ort_release_value(api, $0) }
        }
        return failed
    }

    /// The error of a failed run. A session checks types, ranks and fixed extents before it runs, and each node checks
    /// its values and the open extents: such errors are the caller's.
    private func error(_ code: Int32, _ message: String) -> EngineError {
        if isCancelled.load(ordering: .relaxed) {
            return EngineError(kind: .cancelled, operation: "run the inference", detail: "it was cancelled")
        }
        let detail = ORTMessage.summary(message), invalidArgument: Int32 = 2
        let isMemory = message.contains("Available memory of")
        guard code == invalidArgument || model.isOpen, let first = model.inputs.first else {
            return EngineError(kind: .failure, operation: "run the inference", detail: detail)
        }
        let shapes = zip(model.inputs, tensors).map { "\"\($0.name)\" \($1?.shape.description ?? "")" }
        let reason =
            isMemory
            ? "the inference needs more memory than is allowed: send fewer rows at a time"
            : "the model does not take it: \(detail)"
        return EngineError(
            kind: .invalidInput, operation: first.name, detail: "\(reason) (\(shapes.joined(separator: ", ")))")
    }

    func finish() throws(EngineError) {
        // Large inputs are not kept until the next inference.
        for index in tensors.indices { tensors[index] = nil }
        if let failure { throw failure }
    }

    func cancel() {
        isCancelled.store(true, ordering: .relaxed)
        // ONNX Runtime checks the flag between two nodes of the graph.
        _ = library.take(ort_set_terminate(api, options.pointer))
    }

    // MARK: Outputs

    func releaseOutputs() {
        for index in results.indices { results[index] = nil }
        trim?()
    }

    private func output(_ index: Int) throws(EngineError) -> OpaquePointer {
        let value = places.indices.contains(index) ? places[index]?.value ?? results[index] : nil
        guard let value else {
            throw EngineError(kind: .failure, operation: "read output \(index)", detail: "the model did not return it")
        }
        return value.pointer
    }

    func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R {
        let value = try output(index)
        switch model.forms[index] {
        case .tensor:
            if let place = places[index] { return body(place.shape, UnsafeRawBufferPointer(place.bytes)) }
            return try library.withTensor(value) { body($1, $2) }
        case .labelled(let labels):
            let values = try library.rows(of: value, classes: labels.texts.count)
            return values.withUnsafeBytes { body([values.count / max(1, labels.texts.count), labels.texts.count], $0) }
        case .values:
            throw EngineError(
                kind: .failure, operation: "read output \"\(model.outputs[index].name)\"",
                detail: "it is not a tensor of numbers")
        }
    }

    func feature(_ index: Int) -> FeatureValue? {
        guard case .values = model.forms[index], let value = try? output(index) else { return nil }
        return try? library.feature(value)
    }

    func profile() throws(EngineError) -> [LayerProfile] { try model.session.profile?.layers(of: model.session) ?? [] }
}
