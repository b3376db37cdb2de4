internal import CLiteRT
internal import EngineAPI
internal import EngineImporters
internal import Synchronization

/// A TensorFlow Lite file read by LiteRT.
final class LiteRTModelFile: ModelFile {
    let model: LiteRTModel
    let kernels: LiteRTEngine.Kernels
    let inputs: [TensorPort]
    let outputs: [TensorPort]
    /// The instance that has shown that LiteRT has all operators; ``compile(_:)`` takes it.
    private let first: Mutex<LiteRTInstance?>

    init(_ path: String, library: LiteRTLibrary, kernels: LiteRTEngine.Kernels) throws(EngineError) {
        guard let bytes = TFLiteFile.bytes(path) else {
            throw EngineError(
                kind: .invalidModel, operation: "read the model file with LiteRT", detail: "it cannot be read")
        }
        let file = try TFLiteFile.forLiteRT(bytes)
        (inputs, outputs) = try LiteRTPorts.read(file)
        model = try LiteRTModel(file, library: library)
        self.kernels = kernels
        // Refused here, and not when it is compiled, so that the error also has the reason of the other engine.
        let instance = try LiteRTInstance(model, kernels: kernels, threads: 1)
        try instance.check(outputCount: outputs.count, isOpen: inputs.contains { !$0.shape.isStatic })
        first = Mutex(instance)
    }

    func inputIndex(named name: String) -> Int? { inputs.firstIndex { $0.name == name } }
    func outputIndex(named name: String) -> Int? { outputs.firstIndex { $0.name == name } }

    func compile(_ options: CompileOptions) throws(EngineError) -> any CompiledModel {
        // Streams are our own threads, each with an instance of the model. Only a single-stream prediction gets several
        // threads.
        let several = options.streamsOfOneThread ?? options.streams ?? options.threads ?? 1
        let streams = options.hint == .latency || options.streams == 1 ? 1 : max(1, several)
        let threads = options.hint == .latency ? max(1, options.threads ?? 1) : 1
        let kept = first.withLock { first in
            defer { first = nil }
            return first
        }
        let instance =
            if let kept, threads == 1 { kept } else {
                try LiteRTInstance(model, kernels: kernels, threads: threads)
            }
        return LiteRTCompiledModel(self, first: instance, threads: threads, streams: streams, options: options)
    }
}

/// A model in the library, with the bytes that it reads.
///
/// Sendable: the pointers never change, the bytes are only read, and any thread may use the model.
final class LiteRTModel: @unchecked Sendable {
    let library: LiteRTLibrary
    let pointer: OpaquePointer
    private let bytes: UnsafeMutableRawPointer

    init(_ file: [UInt8], library: LiteRTLibrary) throws(EngineError) {
        self.library = library
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: max(1, file.count), alignment: 64)
        file.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: bytes, count: $0.count).copyMemory(from: $0) }
        var pointer: OpaquePointer?
        let status = library.api.create_model(
            library.environment, bytes, file.count, &pointer)
        guard status == 0, let pointer else {
            bytes.deallocate()
            throw EngineError(
                kind: .invalidModel, operation: "read the model file with LiteRT", detail: LiteRTStatus.text(status))
        }
        self.bytes = bytes
        self.pointer = pointer
    }

    deinit {
        library.api.destroy_model(pointer)
        bytes.deallocate()
    }
}
