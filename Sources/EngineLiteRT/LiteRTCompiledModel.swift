internal import CLiteRT
internal import EngineAPI
internal import Glibc
internal import Synchronization

/// A compiled model: each infer request has an instance of its own, because LiteRT's instances run one inference at a
/// time.
final class LiteRTCompiledModel: CompiledModel {
    let model: LiteRTModel
    let inputs: [TensorPort]
    let outputs: [TensorPort]
    let optimalRequestCount: Int
    var loadedFromCache: Bool { false }
    var executionDevices: String { "CPU" }
    let execution: ExecutionProperties
    /// True if callers choose the shape of an input.
    let isOpen: Bool
    private let kernels: LiteRTEngine.Kernels
    private let threads: Int
    /// An instance for the first request.
    private let first: Mutex<LiteRTInstance?>

    init(
        _ file: LiteRTModelFile, first: LiteRTInstance, threads: Int, streams: Int, options: CompileOptions
    ) {
        model = file.model
        kernels = file.kernels
        self.threads = threads
        inputs = file.inputs
        outputs = file.outputs
        optimalRequestCount = streams
        isOpen = file.inputs.enumerated().contains { !(options.inputShapes[$0.offset] ?? $0.element.shape).isStatic }
        var execution = ExecutionProperties()
        execution.precision = InferencePrecision.float32.rawValue
        execution.hint = options.hint.rawValue.uppercased()
        execution.threads = streams * threads
        execution.streams = streams
        self.execution = execution
        self.first = Mutex(first)
    }

    func makeRequest() throws(EngineError) -> any InferRequest {
        let kept = first.withLock { first in
            defer { first = nil }
            return first
        }
        let instance = if let kept { kept } else { try LiteRTInstance(model, kernels: kernels, threads: threads) }
        return try LiteRTRequest(self, instance)
    }

    func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor {
        try LiteRTTensor(model.library, elementType: elementType, shape: shape)
    }
}

/// A compiled model of the library, which runs one inference at a time.
///
/// Sendable: the pointers never change; the owner, an infer request, calls it from one thread at a time.
final class LiteRTInstance: @unchecked Sendable {
    let pointer: OpaquePointer
    /// True once the current inference was cancelled; LiteRT reads it between two operators.
    let isCancelled = CancellationFlag()
    private let model: LiteRTModel

    var api: litert_api { model.library.api }

    /// A flag that a C function reads.
    final class CancellationFlag: Sendable {
        private let flag = Atomic(false)
        var isSet: Bool {
            get { flag.load(ordering: .relaxed) }
            set { flag.store(newValue, ordering: .relaxed) }
        }
    }

    init(_ model: LiteRTModel, kernels: LiteRTEngine.Kernels, threads: Int) throws(EngineError) {
        self.model = model
        let library = model.library, api = library.api
        let options = try Self.options(library, kernels: kernels, threads: threads)
        defer { api.destroy_options(options) }
        var pointer: OpaquePointer?
        let status = api.create_compiled_model(library.environment, model.pointer, options, &pointer)
        guard status == 0, let pointer else {
            throw EngineError(
                kind: .invalidModel, operation: "compile the model with LiteRT",
                detail: status == 3 || status == 5
                    ? "it has operators, or versions of operators, that LiteRT does not run" : LiteRTStatus.text(status)
            )
        }
        self.pointer = pointer
        let flag = Unmanaged.passUnretained(isCancelled).toOpaque()
        let asked = api.set_cancellation(pointer, flag) { context in
            guard let context else { return false }
            return Unmanaged<CancellationFlag>.fromOpaque(context).takeUnretainedValue().isSet
        }
        guard asked == 0 else {
            api.destroy_compiled_model(pointer)
            throw EngineError(
                kind: .failure, operation: "compile the model with LiteRT", detail: LiteRTStatus.text(asked))
        }
    }

    deinit { model.library.api.destroy_compiled_model(pointer) }

    /// Checks that LiteRT has all operators of the model.
    /// - Parameter isOpen: true if callers choose the shape of an input: the shapes of the file, where open axes are 1,
    ///   need not be possible then.
    func check(outputCount: Int, isOpen: Bool) throws(EngineError) {
        var layouts = [litert_layout](repeating: litert_layout(), count: outputCount)
        let status = api.get_output_layouts(pointer, 0, layouts.count, &layouts, true)
        guard status != 0 else { return }
        let message = messages() ?? LiteRTStatus.text(status), custom = "unresolved custom op: "
        var detail = message
        if let start = message.firstRange(of: custom)?.upperBound {
            let name = message[start...].prefix { $0 != ";" }
            detail = "it does not have the operator \(name.hasSuffix(".") ? name.dropLast() : name)"
        } else if isOpen {
            return
        }
        throw EngineError(kind: .invalidModel, operation: "prepare the model with LiteRT", detail: detail)
    }

    private static func options(
        _ library: LiteRTLibrary, kernels: LiteRTEngine.Kernels, threads: Int
    ) throws(EngineError) -> OpaquePointer {
        let api = library.api, operation = "configure LiteRT"
        var options: OpaquePointer?
        try LiteRTStatus.check(operation, api.create_options(&options))
        guard let options else {
            throw EngineError(kind: .failure, operation: operation, detail: "it returned nothing")
        }
        do throws(EngineError) {
            let processor: Int32 = 1
            try LiteRTStatus.check(operation, api.set_accelerators(options, processor))
            let mode = kernels == .xnnpack ? "delegate" : "builtin"
            let texts = [
                ("xnnpack", "kernel_mode = \"\(mode)\"\nnum_threads = \(max(1, threads))\n"),
                // Errors are kept for the caller, and not written to the standard error.
                ("runtime_options_string", "error_reporter_mode = 2\n"),
            ]
            for (id, text) in texts {
                var opaque: OpaquePointer?
                // The library frees the text.
                guard let copy = strdup(text) else {
                    throw EngineError(kind: .failure, operation: operation, detail: "there is not enough memory")
                }
                let status = api.create_opaque_options(id, copy, { free($0) }, &opaque)
                guard status == 0, let opaque else {
                    free(copy)
                    throw EngineError(kind: .failure, operation: operation, detail: LiteRTStatus.text(status))
                }
                try LiteRTStatus.check(operation, api.add_opaque_options(options, opaque))
            }
            return options
        } catch {
            api.destroy_options(options)
            throw error
        }
    }

    /// The messages of the last failure, on one line; reading removes them.
    func messages() -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard api.get_error_messages(pointer, &text) == 0, let text else { return nil }
        defer { free(text) }
        let line = String(cString: text).split(whereSeparator: \.isNewline).joined(separator: "; ")
        return line.isEmpty ? nil : String(line.prefix(400))
    }
}
