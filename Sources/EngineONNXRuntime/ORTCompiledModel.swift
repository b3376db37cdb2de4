internal import EngineAPI
internal import Glibc
internal import Synchronization

/// A session with one infer request for each stream.
final class ORTCompiledModel: CompiledModel {
    let session: ORTSession
    let inputs: [TensorPort]
    let outputs: [TensorPort]
    let forms: [OutputForm]
    let optimalRequestCount: Int
    var loadedFromCache: Bool { false }
    var executionDevices: String { session.provider.name }
    let execution: ExecutionProperties
    let remarks: [String]
    let inputNames: CNames, outputNames: CNames
    /// True if callers choose the shape of an input.
    let isOpen: Bool
    /// True once an output had another shape than the file declares: ONNX Runtime then allocates all outputs.
    var hasOtherShapes: Bool {
        get { otherShapes.load(ordering: .relaxed) }
        set { otherShapes.store(newValue, ordering: .relaxed) }
    }
    private let otherShapes = Atomic(false)

    init(_ session: ORTSession, file: ORTModelFile, streams: Int, options: CompileOptions, remarks: [String] = []) {
        self.remarks = remarks
        self.session = session
        inputs = file.inputs
        outputs = file.outputs
        forms = file.forms
        optimalRequestCount = streams
        inputNames = CNames(inputs.map(\.name))
        outputNames = CNames(outputs.map(\.name))
        isOpen = file.inputs.enumerated().contains { !(options.inputShapes[$0.offset] ?? $0.element.shape).isStatic }
        var execution = ExecutionProperties()
        execution.precision = InferencePrecision.float32.rawValue
        execution.hint = options.hint.rawValue.uppercased()
        execution.threads = streams * session.threads
        execution.streams = streams
        self.execution = execution
    }

    func makeRequest() throws(EngineError) -> any InferRequest { try ORTRequest(self) }

    func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor {
        if elementType == .string { return StringTensor(shape: shape) }
        return try ORTTensor(session.library, elementType: elementType, shape: shape)
    }
}

/// An array of C strings.
///
/// Sendable: only the initializer writes the strings; later they are only read, and freed with the last reference.
final class CNames: @unchecked Sendable {
    let pointers: UnsafeMutablePointer<UnsafePointer<CChar>?>
    let count: Int

    init(_ names: [String]) {
        count = names.count
        pointers = .allocate(capacity: max(1, names.count))
        for (index, name) in names.enumerated() { (pointers + index).initialize(to: strdup(name)) }
    }

    deinit {
        for index in 0..<count { free(UnsafeMutablePointer(mutating: pointers[index])) }
        pointers.deallocate()
    }
}
