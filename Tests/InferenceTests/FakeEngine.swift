import Inference
import Synchronization

/// An engine that a test controls: the test ends inferences.
final class FakeEngine: Engine {
    let version = "fake 1"
    let inputs: [TensorPort]
    let outputs: [TensorPort]
    let requestCount: Int
    /// The contents of every output, as raw bytes.
    let answer: [UInt8]
    /// True if inferences end as soon as they are started.
    let endsAtOnce: Bool
    /// The maximum number of items of an inference; a larger one fails with an error of this kind.
    let maximumItems: Int, kindOfTooMany: EngineError.Kind
    /// The maximum number of worker threads that it reports; nil for an unknown number.
    let threads: Int?
    /// The maximum number of loaded models; for a further one no threads are available.
    let maximumModels: Int
    /// Bytes that each compiled model may keep for sizes of inputs.
    let shapeMemory: Int
    /// The answer of an infer request, given the streams of its model, its number in the model, the number of its runs,
    /// and its items; nil returns `answer`.
    let answers: (@Sendable (_ streams: Int, _ request: Int, _ run: Int, _ items: Int) -> [UInt8])?
    var comparesStreams: Bool { answers != nil }
    /// Called when an input of an infer request is set.
    let onSetInput: @Sendable () -> Void
    /// Called when an infer request is created.
    let onMakeRequest: @Sendable () -> Void
    /// Called while a model file is read.
    let onRead: @Sendable () -> Void
    /// Called when a compiled model is released, on the thread that releases it.
    let onFree: @Sendable () -> Void
    /// Called to check shapes; returns the reason the model does not accept them, nil if it does.
    let onCheck: @Sendable ([Int: Shape]) -> String?
    let state = Mutex(State())

    struct State {
        /// Inferences under way: each closure ends one; the argument tells whether it was cancelled.
        var running: [(id: Int, end: @Sendable (Bool) -> Void)] = []
        var started = 0
        /// The number of inferences that were started without an input that was set for them.
        var withoutInputs = 0
        var cancelled = 0
        /// The number of cancellations of inferences that were under way.
        var stopped = 0
        var maximum = 0
        var loads = 0
        /// The number of models that are loaded now.
        var models = 0
        /// The number of items of each inference.
        var items: [Int] = []
        /// The files that were read.
        var sources: [ModelSource] = []
        /// The options that models were compiled with.
        var options: [CompileOptions] = []
        /// The requests that were ever started.
        var used: Set<ObjectIdentifier> = []
        /// The numbers of next inferences that fail, and of those whose answers are reported as doubtful.
        var failures = 0, doubts = 0
        /// The numbers of the requests that failed, and how often one of them was started again.
        var failed: Set<Int> = []
        var usedAgain = 0
        /// False if no more requests can be created.
        var makesRequests = true
    }

    init(
        inputs: [TensorPort] = [TensorPort(name: "x", elementType: .float32, shape: [1, 4])],
        outputs: [TensorPort] = [TensorPort(name: "y", elementType: .float32, shape: [1, 4])],
        requestCount: Int = 2, answer: [UInt8] = [UInt8](repeating: 0, count: 16), endsAtOnce: Bool = true,
        maximumItems: Int = .max, kindOfTooMany: EngineError.Kind = .failure, threads: Int? = nil,
        maximumModels: Int = .max, shapeMemory: Int = 0,
        answers: (@Sendable (_ streams: Int, _ request: Int, _ run: Int, _ items: Int) -> [UInt8])? = nil,
        onSetInput: @escaping @Sendable () -> Void = {},
        onMakeRequest: @escaping @Sendable () -> Void = {},
        onRead: @escaping @Sendable () -> Void = {},
        onFree: @escaping @Sendable () -> Void = {},
        onCheck: @escaping @Sendable ([Int: Shape]) -> String? = { _ in nil }
    ) {
        self.inputs = inputs
        self.outputs = outputs
        self.requestCount = requestCount
        self.answer = answer
        self.endsAtOnce = endsAtOnce
        self.maximumItems = maximumItems
        self.kindOfTooMany = kindOfTooMany
        self.threads = threads
        self.maximumModels = maximumModels
        self.shapeMemory = shapeMemory
        self.answers = answers
        self.onSetInput = onSetInput
        self.onMakeRequest = onMakeRequest
        self.onRead = onRead
        self.onFree = onFree
        self.onCheck = onCheck
    }

    func availableDevices() throws(EngineError) -> [ComputeDevice] {
        [ComputeDevice(name: "FAKE", fullName: "a test's own", capabilities: [])]
    }

    func read(_ source: ModelSource) throws(EngineError) -> any ModelFile {
        state.withLock { $0.sources.append(source) }
        onRead()
        return FakeFile(engine: self)
    }

    var started: Int { state.withLock { $0.started } }
    var cancelled: Int { state.withLock { $0.cancelled } }
    var maximum: Int { state.withLock { $0.maximum } }
    var running: Int { state.withLock { $0.running.count } }

    /// Ends the inference that has run longest. Returns whether one was running.
    @discardableResult
    func endOne(cancelled: Bool = false) -> Bool {
        let first = state.withLock { $0.running.isEmpty ? nil : $0.running.removeFirst() }
        first?.end(cancelled)
        return first != nil
    }
}

private struct FakeFile: ModelFile {
    let engine: FakeEngine
    var inputs: [TensorPort] { engine.inputs }
    var outputs: [TensorPort] { engine.outputs }
    func inputIndex(named name: String) -> Int? { inputs.firstIndex { $0.name == name } }
    func outputIndex(named name: String) -> Int? { outputs.firstIndex { $0.name == name } }
    func compile(_ options: CompileOptions) throws(EngineError) -> any CompiledModel {
        let hasThreads = engine.state.withLock { state in
            state.loads += 1
            state.options.append(options)
            guard state.models < engine.maximumModels else { return false }
            state.models += 1
            return true
        }
        guard hasThreads else {
            throw EngineError(kind: .noThreads, operation: "compile the model", detail: "no more threads")
        }
        return FakeModel(engine: engine, options: options)
    }
}

private final class FakeModel: CompiledModel {
    let engine: FakeEngine
    let execution: ExecutionProperties
    private let requests = Atomic<Int>(0)
    var shapeMemory: Int { engine.shapeMemory }
    init(engine: FakeEngine, options: CompileOptions) {
        self.engine = engine
        var execution = ExecutionProperties()
        execution.threads = engine.threads.map { min($0, options.threads ?? $0) }
        execution.streams = options.streams ?? engine.requestCount
        self.execution = execution
    }
    deinit {
        engine.state.withLock { $0.models -= 1 }
        engine.onFree()
    }
    var inputs: [TensorPort] { engine.inputs }
    var outputs: [TensorPort] { engine.outputs }
    var optimalRequestCount: Int { min(engine.requestCount, execution.streams ?? engine.requestCount) }
    var loadedFromCache: Bool { false }
    var executionDevices: String { "FAKE" }
    func check(_ shapes: [Int: Shape]) throws(EngineError) {
        guard let reason = engine.onCheck(shapes) else { return }
        throw EngineError(kind: .invalidModel, operation: "try the shapes", detail: reason)
    }
    func makeRequest() throws(EngineError) -> any InferRequest {
        guard engine.state.withLock({ $0.makesRequests }) else {
            throw EngineError(kind: .failure, operation: "make an infer request", detail: "no memory")
        }
        engine.onMakeRequest()
        let number = requests.wrappingAdd(1, ordering: .relaxed).oldValue
        return FakeRequest(engine: engine, streams: execution.streams ?? 1, number: number)
    }
    func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor {
        FakeTensor(elementType: elementType, shape: shape)
    }
}

/// Sendable: the memory is allocated once; ``EngineTensor`` defines which code accesses it, and when.
private final class FakeTensor: EngineTensor, @unchecked Sendable {
    let elementType: ElementType
    let shape: Shape
    let bytes: UnsafeMutableRawBufferPointer

    init(elementType: ElementType, shape: Shape) {
        self.elementType = elementType
        self.shape = shape
        bytes = .allocate(byteCount: (shape.elementCount ?? 0) * elementType.byteCount, alignment: 64)
    }

    deinit { bytes.deallocate() }
}

private final class FakeRequest: InferRequest {
    private let engine: FakeEngine
    private let inner = Mutex(Inner())

    private struct Inner {
        var id = 0
        var isRunning = false
        var wasCancelled = false
        var items = 1
        var hasInput = false
        var runs = 0
    }

    private let streams: Int, number: Int

    init(engine: FakeEngine, streams: Int, number: Int) {
        self.engine = engine
        self.streams = streams
        self.number = number
    }

    func setInput(_ index: Int, to tensor: any EngineTensor) throws(EngineError) {
        inner.withLock {
            $0.items = tensor.shape.dimensions.first ?? 1
            $0.hasInput = true
        }
        engine.onSetInput()
    }

    func start(completion: @escaping @Sendable () -> Void) throws(EngineError) {
        let (wasRunning, hasInput, items) = inner.withLock { inner in
            defer {
                inner.isRunning = true
                inner.hasInput = false
                inner.runs += 1
                inner.wasCancelled = false
            }
            return (inner.isRunning, inner.hasInput, inner.items)
        }
        // The pool must prevent that a request in use is started again.
        if wasRunning { throw EngineError(kind: .failure, operation: "start", detail: "the request is busy") }
        let end: @Sendable (Bool) -> Void = { [inner = self] cancelled in
            inner.end(cancelled: cancelled)
            completion()
        }
        let id = engine.state.withLock { state in
            state.started += 1
            state.withoutInputs += hasInput ? 0 : 1
            state.items.append(items)
            state.used.insert(ObjectIdentifier(self))
            if state.failed.contains(number) { state.usedAgain += 1 }
            state.running.append((state.started, end))
            state.maximum = max(state.maximum, state.running.count)
            return state.started
        }
        inner.withLock { $0.id = id }
        if engine.endsAtOnce { engine.endOne() }
    }

    private func end(cancelled: Bool) {
        inner.withLock { inner in
            inner.isRunning = false
            inner.wasCancelled = cancelled
        }
    }

    func finish() throws(EngineError) {
        let (isRunning, wasCancelled, items) = inner.withLock { ($0.isRunning, $0.wasCancelled, $0.items) }
        if items > engine.maximumItems {
            throw EngineError(
                kind: engine.kindOfTooMany,
                operation: engine.kindOfTooMany == .invalidInput ? "x" : "run the inference",
                detail: "too many items: \(items)")
        }
        if isRunning { throw EngineError(kind: .failure, operation: "finish", detail: "the request is still running") }
        if wasCancelled { throw EngineError(kind: .cancelled, operation: "run the inference", detail: "cancelled") }
        let kind = engine.state.withLock { state -> EngineError.Kind? in
            guard state.failures > 0 || state.doubts > 0 else { return nil }
            state.failed.insert(number)
            if state.doubts > 0 {
                state.doubts -= 1
                return .doubtful
            }
            state.failures -= 1
            return .failure
        }
        if let kind { throw EngineError(kind: kind, operation: "run the inference", detail: "the test wants it") }
    }

    func cancel() {
        // The test ends the inference later, as the slowest possible engine would.
        let isRunning = inner.withLock { $0.isRunning }
        engine.state.withLock { state in
            state.cancelled += 1
            if isRunning { state.stopped += 1 }
        }
    }

    func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R {
        var shape = engine.outputs[index].shape
        let (items, runs) = inner.withLock { ($0.items, $0.runs) }
        let answer = engine.answers?(streams, number, runs, items) ?? engine.answer
        guard shape.dimensions.first == Shape.dynamic else { return answer.withUnsafeBytes { body(shape, $0) } }
        shape.dimensions[0] = items
        return Array(repeatElement(answer, count: items).joined()).withUnsafeBytes { body(shape, $0) }
    }

    func profile() throws(EngineError) -> [LayerProfile] { [] }
}

extension FakeEngine {
    /// The problems of a bundle with these files.
    func problems(of files: [String: String]) async throws -> [String] {
        let folder = try TemporaryFolder()
        let path = try folder.write(files)
        var configuration = ModelConfiguration()
        configuration.engine = self
        do throws(InferenceError) {
            _ = try await Model.load(contentsOf: path, configuration: configuration)
            return []
        } catch {
            guard case .invalidBundle(_, let problems) = error else { return ["another error: \(error.message)"] }
            return problems.map(\.description)
        }
    }
}
