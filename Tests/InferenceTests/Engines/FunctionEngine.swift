import Inference
import Synchronization

/// An engine that computes its output with a function of its inputs.
final class FunctionEngine: Engine {
    typealias Answer = Result<(Shape, [Float]), EngineError>
    typealias Function = @Sendable (Shape, [Float]) -> Answer

    /// A function of several inputs of one shape.
    typealias Functions = @Sendable (Shape, [[Float]]) -> Answer

    let version: String
    let input: Shape, count: Int
    let function: Functions
    /// The functions of other files, by the name of the file; nil for a file that it does not read.
    let others: [String: Function?]
    /// The shapes of the inputs of each inference.
    let shapes = Mutex<[Shape]>([])

    init(_ version: String, _ input: Shape, _ function: @escaping Function, others: [String: Function?] = [:]) {
        self.version = version
        self.input = input
        self.others = others
        count = 1
        self.function = { function($0, $1[0]) }
    }

    init(_ version: String, _ input: Shape, inputs: Int, _ function: @escaping Functions) {
        self.version = version
        self.input = input
        self.function = function
        others = [:]
        count = inputs
    }

    func availableDevices() throws(EngineError) -> [ComputeDevice] { [] }
    func read(_ source: ModelSource) throws(EngineError) -> any ModelFile {
        let name = source.path.split(separator: "/").last.map(String.init) ?? ""
        guard let other = others[name] else { return File(engine: self, function: function) }
        guard let other else {
            throw EngineError(kind: .invalidModel, operation: "read the model file", detail: "an unknown operator")
        }
        return File(engine: self, function: { other($0, $1[0]) })
    }

    private struct File: ModelFile {
        let engine: FunctionEngine
        let function: Functions
        var inputs: [TensorPort] {
            (0..<engine.count).map {
                TensorPort(name: $0 == 0 ? "x" : "x\($0)", elementType: .float32, shape: engine.input)
            }
        }
        var outputs: [TensorPort] { [TensorPort(name: "y", elementType: .float32, shape: engine.input)] }
        func inputIndex(named name: String) -> Int? { inputs.firstIndex { $0.name == name } }
        func outputIndex(named name: String) -> Int? { 0 }
        func compile(_ options: CompileOptions) throws(EngineError) -> any CompiledModel {
            Compiled(engine: engine, function: function, inputs: inputs, outputs: outputs)
        }
    }

    private struct Compiled: CompiledModel {
        let engine: FunctionEngine
        let function: Functions
        let inputs: [TensorPort], outputs: [TensorPort]
        var optimalRequestCount: Int { 1 }
        var loadedFromCache: Bool { false }
        var executionDevices: String { "FAKE" }
        func makeRequest() throws(EngineError) -> any InferRequest { Request(engine, function) }
        func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor {
            Tensor(shape)
        }
    }

    /// Sendable: the memory is allocated once; ``EngineTensor`` defines which code accesses it, and when.
    private final class Tensor: EngineTensor, @unchecked Sendable {
        let elementType = ElementType.float32
        let shape: Shape
        let bytes: UnsafeMutableRawBufferPointer

        init(_ shape: Shape) {
            self.shape = shape
            bytes = .allocate(byteCount: (shape.elementCount ?? 0) * 4, alignment: 64)
        }

        deinit { bytes.deallocate() }
    }

    private final class Request: InferRequest {
        private let engine: FunctionEngine
        private let function: Functions
        private let state = Mutex<(inputs: [Int: any EngineTensor], answer: Answer?)>(([:], nil))

        init(_ engine: FunctionEngine, _ function: @escaping Functions) {
            self.engine = engine
            self.function = function
        }

        func setInput(_ index: Int, to tensor: any EngineTensor) throws(EngineError) {
            state.withLock { $0.inputs[index] = tensor }
        }

        func start(completion: @escaping @Sendable () -> Void) throws(EngineError) {
            state.withLock { state in
                let inputs = state.inputs.sorted { $0.key < $1.key }.map(\.value)
                guard let shape = inputs.first?.shape else { return }
                engine.shapes.withLock { $0.append(shape) }
                state.answer = function(shape, inputs.map { Array($0.bytes.bindMemory(to: Float.self)) })
            }
            completion()
        }

        func finish() throws(EngineError) { _ = try state.withLock { $0.answer }?.get() }
        func cancel() {}

        func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R {
            let (shape, values) = try state.withLock { $0.answer }?.get() ?? ([], [])
            return values.withUnsafeBytes { body(shape, $0) }
        }

        func profile() throws(EngineError) -> [LayerProfile] { [] }
    }
}
