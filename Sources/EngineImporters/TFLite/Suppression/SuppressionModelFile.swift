internal import Dispatch
internal import EngineAPI
internal import Synchronization

/// A TensorFlow Lite file with a non-maximum suppression among its operators: the engine runs the operators before and
/// after it, and this code computes it. For callers, the model has the inputs and outputs of its file.
struct SuppressionModelFile: ModelFile {
    private let front: any ModelFile
    private let back: (any ModelFile)?
    fileprivate let split: SuppressionSplit
    /// The indices of `split`'s values among the outputs of the first file and the inputs of the second.
    fileprivate let frontPlaces: [Int], backPlaces: [Int]
    let outputs: [TensorPort]

    var inputs: [TensorPort] { front.inputs }
    var integerWeights: IntegerWeights? { front.integerWeights }

    /// - Throws: `invalidModel` if the two files lack tensors that must be passed on.
    init(
        front: any ModelFile, back: (any ModelFile)?, split: SuppressionSplit
    ) throws(EngineError) {
        self.front = front
        self.back = back
        self.split = split
        func place(_ found: Int?, _ index: Int, _ count: Int, _ name: String) throws(EngineError) -> Int {
            // Names may be lost during the conversion; the order is kept.
            guard let place = found ?? (index < count ? index : nil) else {
                throw EngineError(
                    kind: .invalidModel, operation: "split the model at its suppression",
                    detail: "there is no tensor \"\(name)\"")
            }
            return place
        }
        var frontPlaces: [Int] = [], backPlaces: [Int] = []
        for (index, name) in split.frontOutputs.enumerated() {
            frontPlaces.append(try place(front.outputIndex(named: name), index, front.outputs.count, name))
        }
        for (index, source) in split.sources.enumerated() {
            backPlaces.append(
                try place(back?.inputIndex(named: source.name), index, back?.inputs.count ?? 0, source.name))
        }
        (self.frontPlaces, self.backPlaces) = (frontPlaces, backPlaces)
        let maximum = split.suppression.maximum
        var outputs: [TensorPort] = []
        for (name, value) in split.outputs {
            switch value {
            case .indices: outputs.append(TensorPort(name: name, elementType: .int32, shape: [maximum]))
            case .scores: outputs.append(TensorPort(name: name, elementType: .float32, shape: [maximum]))
            case .count: outputs.append(TensorPort(name: name, elementType: .int32, shape: [1]))
            case .input(let place) where front.inputs.indices.contains(place): outputs.append(front.inputs[place])
            case .front(let place) where frontPlaces.indices.contains(place):
                outputs.append(front.outputs[frontPlaces[place]])
            case .back(let place) where back?.outputs.indices.contains(place) ?? false:
                if let back { outputs.append(back.outputs[place]) }
            default:
                throw EngineError(
                    kind: .invalidModel, operation: "split the model at its suppression",
                    detail: "output \"\(name)\" is missing")
            }
        }
        self.outputs = outputs
    }

    func inputIndex(named name: String) -> Int? { front.inputIndex(named: name) }
    func outputIndex(named name: String) -> Int? { outputs.firstIndex { $0.name == name } }

    func compile(_ options: CompileOptions) throws(EngineError) -> any CompiledModel {
        var backOptions = options
        backOptions.inputShapes = [:]
        return SuppressionModel(
            file: self, front: try front.compile(options), back: try compiledBack(backOptions), outputs: outputs)
    }

    private func compiledBack(_ options: CompileOptions) throws(EngineError) -> (any CompiledModel)? {
        guard let back else { return nil }
        return try back.compile(options)
    }
}

private struct SuppressionModel: CompiledModel {
    let file: SuppressionModelFile
    let front: any CompiledModel
    let back: (any CompiledModel)?
    let outputs: [TensorPort]

    var inputs: [TensorPort] { front.inputs }
    var optimalRequestCount: Int { front.optimalRequestCount }
    var loadedFromCache: Bool { front.loadedFromCache }
    var executionDevices: String { front.executionDevices }
    var execution: ExecutionProperties { front.execution }
    var shapeMemory: Int { front.shapeMemory + (back?.shapeMemory ?? 0) }

    func check(_ shapes: [Int: Shape]) throws(EngineError) { try front.check(shapes) }
    func makeRequest() throws(EngineError) -> any InferRequest {
        var second: (any InferRequest)?
        if let back { second = try back.makeRequest() }
        return SuppressionRequest(self, front: try front.makeRequest(), back: second)
    }
    func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor {
        try front.makeTensor(elementType: elementType, shape: shape)
    }
}

/// Runs one prediction at a time with both parts.
///
/// `@unchecked Sendable`: the ownership rule of ``InferRequest`` keeps all calls except ``cancel()`` to one thread at a
/// time. Between a start and its completion the owner calls nothing else, and the state belongs to one chain of steps,
/// each of which begins after the previous one has ended (the engine's callback, then the queue, pass it on).
/// `cancel()` accesses only the atomics and the two requests, which never change.
private final class SuppressionRequest: InferRequest, @unchecked Sendable {
    private let model: SuppressionModel
    private let front: any InferRequest
    private let back: (any InferRequest)?
    private var tensors: [Int: any EngineTensor] = [:]
    private var selection = NonMaxSuppression.Selection()
    private var failure: EngineError?
    /// True if the second part has run, and its result must still be checked.
    private var backHasRun = false
    private let isCancelled = Atomic(false)

    private var split: SuppressionSplit { model.file.split }

    init(_ model: SuppressionModel, front: any InferRequest, back: (any InferRequest)?) {
        self.model = model
        self.front = front
        self.back = back
    }

    var isFit: Bool { front.isFit && back?.isFit ?? true }

    func setInput(_ index: Int, to tensor: any EngineTensor) throws(EngineError) {
        tensors[index] = tensor
        try front.setInput(index, to: tensor)
    }

    func start(completion: @escaping @Sendable () -> Void) throws(EngineError) {
        isCancelled.store(false, ordering: .relaxed)
        (failure, backHasRun) = (nil, false)
        try front.start {
            // The engine's thread must not do more than this.
            DispatchQueue.global(qos: .userInitiated).async { self.resume(completion) }
        }
    }

    func cancel() {
        isCancelled.store(true, ordering: .relaxed)
        front.cancel()
        back?.cancel()
    }

    func finish() throws(EngineError) {
        if backHasRun { try back?.finish() }
        if let failure { throw failure }
        if isCancelled.load(ordering: .relaxed) {
            throw EngineError(kind: .cancelled, operation: "run the inference", detail: "it was cancelled")
        }
    }

    func profile() throws(EngineError) -> [LayerProfile] {
        guard let back else { return try front.profile() }
        return try front.profile() + back.profile()
    }

    /// Runs the suppression, then the second part.
    private func resume(_ completion: @escaping @Sendable () -> Void) {
        do throws(EngineError) {
            try front.finish()
            selection = split.suppression.select(
                boxes: try numbers(0), scores: try numbers(1),
                isCancelled: { isCancelled.load(ordering: .relaxed) })
            guard let back, !isCancelled.load(ordering: .relaxed) else { return completion() }
            try fill(back)
            backHasRun = true
            do throws(EngineError) {
                try back.start(completion: completion)
            } catch {
                backHasRun = false
                throw error
            }
            // A cancellation before the start had no effect: repeat it.
            if isCancelled.load(ordering: .relaxed) { back.cancel() }
        } catch {
            failure = error
            completion()
        }
    }

    /// Reads boxes or scores as 32-bit floats.
    private func numbers(_ place: Int) throws(EngineError) -> [Float] {
        let index = model.file.frontPlaces[place], type = model.front.outputs[index].elementType
        let quantization = type.isFloatingPoint ? nil : split.quantization[place]
        return try front.withOutput(index) { _, raw in
            var values: [Float] = []
            values.reserveCapacity(raw.count / max(1, type.byteCount))
            ElementConversion.read(raw, as: type) { _, value in values.append(quantization?(value) ?? Float(value)) }
            return values
        }
    }

    /// Sets the inputs of the second part.
    private func fill(_ back: any InferRequest) throws(EngineError) {
        guard let compiled = model.back else { return }
        for (source, place) in zip(split.sources, model.file.backPlaces) {
            let port = compiled.inputs[place]
            if case .input(let index) = source.value {
                guard let tensor = tensors[index] else { continue }
                try back.setInput(place, to: tensor)
                continue
            }
            let tensor: any EngineTensor
            if case .front(let index) = source.value {
                tensor = try front.withOutput(model.file.frontPlaces[index]) { shape, raw in
                    Result { () throws(EngineError) in
                        let tensor = try compiled.makeTensor(elementType: port.elementType, shape: shape)
                        guard tensor.bytes.count >= raw.count else {
                            throw EngineError(
                                kind: .failure, operation: "hand on \"\(port.name)\"",
                                detail: "expected \(tensor.bytes.count) bytes, found \(raw.count)")
                        }
                        tensor.bytes.copyMemory(from: raw)
                        return tensor
                    }
                }.get()
            } else {
                let values = values(of: source.value)
                let shape = port.shape.isStatic ? port.shape : Shape([values.count])
                tensor = try compiled.makeTensor(elementType: port.elementType, shape: shape)
                tensor.zero()
                for (position, value) in values.prefix(shape.elementCount ?? 0).enumerated() {
                    ElementConversion.write(value, at: position, as: port.elementType, to: tensor.bytes)
                }
            }
            try back.setInput(place, to: tensor)
        }
    }

    /// The values that the operator produces; unused elements are 0.
    private func values(of value: SuppressionSplit.Value) -> [Double] {
        func padded(_ values: [Double]) -> [Double] {
            values + [Double](repeating: 0, count: max(0, split.suppression.maximum - values.count))
        }
        switch value {
        case .indices: return padded(selection.indices.map(Double.init))
        case .scores: return padded(selection.scores.map(Double.init))
        case .count: return [Double(selection.indices.count)]
        case .input, .front, .back: return []
        }
    }

    func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R {
        switch split.outputs[index].value {
        case .front(let place): return try front.withOutput(model.file.frontPlaces[place], body)
        case .back(let place):
            guard let back else { break }
            return try back.withOutput(place, body)
        case .input(let place):
            guard let tensor = tensors[place] else { break }
            return body(tensor.shape, UnsafeRawBufferPointer(tensor.bytes))
        case .indices, .scores, .count:
            let port = model.outputs[index], values = values(of: split.outputs[index].value)
            if port.elementType == .int32 {
                return values.map { Int32($0) }.withUnsafeBytes { body(port.shape, $0) }
            }
            return values.map { Float($0) }.withUnsafeBytes { body(port.shape, $0) }
        }
        throw EngineError(
            kind: .failure, operation: "read output \"\(model.outputs[index].name)\"",
            detail: "no part of the model produces it")
    }
}
