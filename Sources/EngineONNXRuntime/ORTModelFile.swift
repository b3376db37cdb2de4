internal import CONNXRuntime
internal import EngineAPI
internal import FlowControl
internal import Synchronization

/// An ONNX file read by ONNX Runtime.
final class ORTModelFile: ValueModelFile {
    private let library: ORTLibrary
    private let content: ORTContent
    private let optimizes: Bool
    let inputs: [TensorPort]
    let outputs: [TensorPort]
    let forms: [OutputForm]
    /// The session that the ports were read from; the first compilation may take it.
    private let first: Mutex<ORTSession?>

    init(_ path: String, library: ORTLibrary, optimizes: Bool) throws(EngineError) {
        self.library = library
        self.optimizes = optimizes
        content = try ORTContent(path)
        let session = try ORTSession(content, provider: .cpu, threads: 1, library: library, optimizes: optimizes)
        let ports = try ORTPorts(session, classes: content.source.map(ONNXClasses.read) ?? [:])
        (inputs, outputs, forms) = (ports.inputs, ports.outputs, ports.forms)
        first = Mutex(session)
    }

    func inputIndex(named name: String) -> Int? { inputs.firstIndex { $0.name == name } }
    func outputIndex(named name: String) -> Int? { outputs.firstIndex { $0.name == name } }

    func compile(_ options: CompileOptions) throws(EngineError) -> any CompiledModel {
        let kept = first.withLock { first in
            defer { first = nil }
            return first
        }
        // Streams are our own threads, which share one session. Only a single-stream prediction gets several threads.
        let several = options.streamsOfOneThread ?? options.streams ?? options.threads ?? 1
        let streams = options.hint == .latency || options.streams == 1 ? 1 : max(1, several)
        let threads = options.hint == .latency ? max(1, options.threads ?? 1) : 1
        let providers = try ORTProvider.list(options.device)
        if providers.first == .cpu, threads == 1, !options.profiling, let kept {
            return ORTCompiledModel(kept, file: self, streams: streams, options: options)
        }
        var failures: [String] = []
        for provider in providers {
            do throws(EngineError) {
                let session = try ORTSession(
                    content, provider: provider, threads: threads, library: library, optimizes: optimizes,
                    profiles: options.profiling)
                let remarks = failures.map { "it runs on \(provider.name), as the list of its devices allows: \($0)" }
                return ORTCompiledModel(session, file: self, streams: streams, options: options, remarks: remarks)
            } catch {
                failures.append("\(provider.name): \(error.detail)")
            }
        }
        throw EngineError(
            kind: .invalidModel, operation: "compile the model for \(options.device)",
            detail: failures.joined(separator: "; "))
    }
}

/// A session: a graph that any number of threads can run.
final class ORTSession: Sendable {
    let library: ORTLibrary
    let handle: ORTHandle
    let provider: ORTProvider
    let threads: Int
    /// Measures the layers until the profile is read; nil without profiling.
    let profile: ORTProfile?

    init(
        _ content: ORTContent, provider: ORTProvider, threads: Int, library: ORTLibrary, optimizes: Bool,
        profiles: Bool = false
    ) throws(EngineError) {
        let api = library.api, environment = try library.prepared()
        profile = profiles ? try ORTProfile() : nil
        let options = try provider.options(
            library, threads: threads, optimizes: optimizes, exactProducts: content.allowsExactProducts,
            profile: profile?.prefix)
        defer { withExtendedLifetime(options) {} }
        let session = try library.make("read the model file", kind: .invalidModel) { session in
            switch content {
            case .file(let path):
                ort_create_session(api, environment.pointer, path, options.pointer, &session)
            case .bytes(let bytes):
                ort_create_session_from_bytes(api, environment.pointer, bytes, bytes.count, options.pointer, &session)
            }
        }
        handle = ORTHandle(session) { ort_release_session(api, $0) }
        self.library = library
        self.provider = provider
        self.threads = threads
    }
}

/// The inputs and outputs of a session.
struct ORTPorts {
    private(set) var inputs: [TensorPort] = []
    private(set) var outputs: [TensorPort] = []
    private(set) var forms: [OutputForm] = []
    private let session: ORTSession

    /// - Parameter classes: the labels of outputs that are sequences of maps, by output.
    init(_ session: ORTSession, classes: [String: ClassLabelList]) throws(EngineError) {
        self.session = session
        let library = session.library, api = library.api
        var count = 0
        try library.check("count the inputs", ort_input_count(api, session.handle.pointer, &count))
        for index in 0..<count {
            let (name, type) = try port(index, name: ort_input_name, type: ort_input_type)
            guard case .tensor(let element, let shape) = type else {
                throw Self.unsupported("input \"\(name)\"", type)
            }
            inputs.append(TensorPort(name: name, elementType: element, shape: shape))
        }
        try library.check("count the outputs", ort_output_count(api, session.handle.pointer, &count))
        for index in 0..<count {
            let (name, type) = try port(index, name: ort_output_name, type: ort_output_type)
            switch type {
            case .tensor(let element, let shape):
                outputs.append(TensorPort(name: name, elementType: element, shape: shape))
                forms.append(element == .string ? .values(nil) : .tensor)
            case .maps:
                let labels = classes[name]
                outputs.append(
                    TensorPort(
                        name: name, elementType: .float32,
                        shape: [Shape.dynamic, labels?.texts.count ?? Shape.dynamic]))
                forms.append(labels.map { .labelled($0) } ?? .values(.maps))
            case .map:
                outputs.append(TensorPort(name: name, elementType: .float32, shape: [Shape.dynamic]))
                forms.append(.values(.map))
            case .tensors(let element):
                outputs.append(TensorPort(name: name, elementType: .float32, shape: [Shape.dynamic]))
                forms.append(.values(.tensors(element)))
            case .unsupported: throw Self.unsupported("output \"\(name)\"", type)
            }
        }
    }

    private func port(
        _ index: Int,
        name: (
            UnsafePointer<ort_api>, OpaquePointer, Int, OpaquePointer,
            UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
        ) -> OpaquePointer?,
        type: (UnsafePointer<ort_api>, OpaquePointer, Int, UnsafeMutablePointer<OpaquePointer?>) -> OpaquePointer?
    ) throws(EngineError) -> (String, ORTType) {
        let library = session.library, allocator = try library.prepared().allocator
        var text: UnsafeMutablePointer<CChar>?
        try library.check("read a name", name(library.api, session.handle.pointer, index, allocator, &text))
        defer { if let text { _ = library.take(ort_allocator_free(library.api, allocator, text)) } }
        let info = try library.make("read a type") { type(library.api, session.handle.pointer, index, &$0) }
        defer { ort_release_type_info(library.api, info) }
        return (text.map { String(cString: $0) } ?? "", try ORTType(info, in: library))
    }

    private static func unsupported(_ what: String, _ type: ORTType) -> EngineError {
        let found =
            switch type {
            case .tensor: "a tensor"
            case .maps: "a sequence of maps"
            case .tensors: "a sequence of tensors"
            case .map: "a map"
            case .unsupported(let name): name
            }
        return EngineError(
            kind: .invalidModel, operation: "serve \(what)", detail: "it is \(found), which is not supported")
    }
}
