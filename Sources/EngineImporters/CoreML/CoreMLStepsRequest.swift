internal import CoreMLImport
internal import Dispatch
internal import EngineAPI
internal import Synchronization

/// Runs one prediction at a time with a file of several steps.
///
/// `@unchecked Sendable`: the ownership rule of ``InferRequest`` keeps all calls except ``cancel()`` to one thread at a
/// time. Between a start and its completion the owner calls nothing else, and the state belongs to one chain of steps,
/// each of which begins after the previous one has ended (the engine's callback, then the queue, pass it on).
/// `cancel()` accesses only the atomic, the mutex and `graphs`, which never changes.
final class CoreMLStepsRequest: InferRequest, @unchecked Sendable {
    private let model: CoreMLStepsModel
    private let graphs: [any InferRequest]
    private var tensors: [(any EngineTensor)?]
    private var run: StepRun?
    private var failure: EngineError?
    private var thresholds = DetectorThresholds()
    private let isCancelled = Atomic(false)
    /// The index of the running graph, for `cancel`.
    private let running = Mutex<Int?>(nil)

    init(_ model: CoreMLStepsModel, graphs: [any InferRequest]) {
        self.model = model
        self.graphs = graphs
        tensors = [(any EngineTensor)?](repeating: nil, count: model.inputs.count)
    }

    func setInput(_ index: Int, to tensor: any EngineTensor) throws(EngineError) {
        guard tensors.indices.contains(index) else {
            throw EngineError(kind: .failure, operation: "take input \(index)", detail: "there are \(tensors.count)")
        }
        tensors[index] = tensor
    }

    var isFit: Bool { graphs.allSatisfy(\.isFit) }

    func setDetectionThresholds(_ thresholds: DetectionThresholds) {
        self.thresholds = DetectorThresholds(
            confidence: thresholds.confidence.map(Double.init), iou: thresholds.iou.map(Double.init))
    }

    // MARK: Running

    func start(completion: @escaping @Sendable () -> Void) throws(EngineError) {
        isCancelled.store(false, ordering: .relaxed)
        failure = nil
        run = StepRun(model.steps, inputs: inputTable(), thresholds: thresholds)
        advance(completion)
    }

    func cancel() {
        isCancelled.store(true, ordering: .relaxed)
        if let graph = running.withLock({ $0 }) { graphs[graph].cancel() }
    }

    func finish() throws(EngineError) {
        if isCancelled.load(ordering: .relaxed) {
            throw EngineError(kind: .cancelled, operation: "run the inference", detail: "it was cancelled")
        }
        if let failure { throw failure }
    }

    /// Evaluates the steps up to the next graph, and continues after that has run; calls the completion at the end.
    private func advance(_ completion: @escaping @Sendable () -> Void) {
        do throws(EngineError) {
            guard case .run(let index, let table) = try next() else { return completion() }
            try fill(index, from: table)
            running.withLock { $0 = index }
            try graphs[index].start {
                // The engine's thread must not do more than this.
                DispatchQueue.global(qos: .userInitiated).async { self.resume(index, completion) }
            }
            // A cancellation before the start had no effect: repeat it.
            if isCancelled.load(ordering: .relaxed) { graphs[index].cancel() }
        } catch {
            failure = error
            completion()
        }
    }

    private func next() throws(EngineError) -> StepRun.Next {
        do throws(EvaluationError) {
            return try run?.advance { isCancelled.load(ordering: .relaxed) } ?? .done
        } catch {
            throw EngineError(kind: .invalidInput, operation: error.feature, detail: error.reason)
        }
    }

    private func resume(_ index: Int, _ completion: @escaping @Sendable () -> Void) {
        running.withLock { $0 = nil }
        do throws(EngineError) {
            try graphs[index].finish()
            run?.resume(with: try results(index))
        } catch {
            failure = error
            return completion()
        }
        advance(completion)
    }

    // MARK: Values

    private func inputTable() -> FeatureTable {
        var table: FeatureTable = [:]
        for (index, feature) in model.description.inputs.enumerated() {
            guard let tensor = tensors[index] else { continue }
            if let tensor = tensor as? FeatureTensor {
                table[feature.name] = tensor.value
                continue
            }
            switch feature.type {
            case .image: table[feature.name] = .image(index)
            case .int64:
                guard tensor.bytes.count >= 8 else { continue }
                let value = tensor.bytes.loadUnaligned(as: Int64.self)
                // The greatest integer marks an optional input that was omitted.
                if !feature.isOptional || value != .max { table[feature.name] = .int64(value) }
            default:
                var values: [Double] = []
                values.reserveCapacity(tensor.shape.elementCount ?? 0)
                ElementConversion.read(UnsafeRawBufferPointer(tensor.bytes), as: tensor.elementType) {
                    values.append($1)
                }
                if case .double = feature.type {
                    // An omitted number: the next step decides what a missing value means.
                    guard let value = values.first, !feature.isOptional || !value.isNaN else { continue }
                    table[feature.name] = .double(value)
                } else {
                    table[feature.name] = .array(NumberArray(values, shape: tensor.shape.dimensions))
                }
            }
        }
        return table
    }

    /// Sets the inputs of a graph: pictures without copying, numbers as copies.
    private func fill(_ index: Int, from table: FeatureTable) throws(EngineError) {
        let compiled = model.graphs[index].compiled
        for (place, port) in compiled.inputs.enumerated() {
            let values: [Double], shape: [Int]
            switch table[port.name] {
            case .image(let number)?:
                guard let tensor = tensors[number] else { continue }
                try graphs[index].setInput(place, to: tensor)
                continue
            case .double(let value)?: (values, shape) = ([value], [1])
            case .int64(let value)?: (values, shape) = ([Double(value)], [1])
            case .array(let array)?: (values, shape) = (array.values, array.shape)
            case nil where port.shape.isStatic:
                // Optional inputs of networks are zeros if they are omitted.
                values = [Double](repeating: 0, count: port.shape.elementCount ?? 0)
                shape = port.shape.dimensions
            case let other:
                throw EngineError(
                    kind: .invalidInput, operation: port.name,
                    detail: "expected numbers of shape \(port.shape), found \(other?.kind ?? "nothing")")
            }
            let wanted = port.shape.isStatic ? port.shape : Shape(shape)
            guard wanted.elementCount == values.count else {
                throw EngineError(
                    kind: .invalidInput, operation: port.name,
                    detail:
                        "expected \(port.shape.elementCount ?? 0) numbers (shape \(port.shape)), found \(values.count)")
            }
            let tensor = try compiled.makeTensor(elementType: port.elementType, shape: wanted)
            for (position, value) in values.enumerated() {
                ElementConversion.write(value, at: position, as: port.elementType, to: tensor.bytes)
            }
            try graphs[index].setInput(place, to: tensor)
        }
    }

    /// The outputs of a graph, as features of its description.
    private func results(_ index: Int) throws(EngineError) -> FeatureTable {
        let graph = model.graphs[index], description = graph.facts.description
        var table: FeatureTable = [:]
        for (place, port) in graph.compiled.outputs.enumerated() {
            let array = try graphs[index].withOutput(place) { shape, raw in
                var values: [Double] = []
                ElementConversion.read(raw, as: port.elementType) { values.append($1) }
                return NumberArray(values, shape: shape.dimensions)
            }
            if let classifier = graph.facts.classifier, classifier.output == port.name {
                let labels = classifier.labels.categories
                guard labels.count == array.values.count else {
                    throw EngineError(
                        kind: .failure, operation: "read the probabilities",
                        detail: "there are \(array.values.count) for \(labels.count) labels")
                }
                let best = array.values.indices.max {
                    array.values[$0] < array.values[$1] || $0 > $1 && array.values[$0] == array.values[$1]
                }
                table[description.predictedFeatureName] = best.map { labels[$0].data }
                if !description.predictedProbabilitiesName.isEmpty {
                    table[description.predictedProbabilitiesName] = .dictionary(
                        CategoryNumbers(keys: labels, values: array.values))
                }
            } else {
                table[port.name] = .array(array)
            }
        }
        return table
    }

    // MARK: Outputs

    private func output(_ index: Int) -> FeatureData? {
        guard model.outputs.indices.contains(index) else { return nil }
        return run?.table[model.outputs[index].name]
    }

    func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R {
        guard let data = output(index) else {
            throw EngineError(
                kind: .failure, operation: "read output \(index)", detail: "no model of the file produces it")
        }
        let port = model.outputs[index]
        var values: [Double] = [], shape: [Int] = [1]
        switch data {
        case .double(let value): values = [value]
        case .int64(let value): return withUnsafeBytes(of: value) { body([1], $0) }
        case .array(let array): (values, shape) = (array.values, array.shape)
        case .dictionary(let numbers): (values, shape) = (numbers.values, [numbers.values.count])
        case .string, .image:
            throw EngineError(kind: .failure, operation: "read output \"\(port.name)\"", detail: "it is \(data.kind)")
        }
        if port.elementType == .int64, let fraction = values.first(where: { Int64(exactly: $0) == nil }) {
            throw EngineError(
                kind: .failure, operation: "read output \"\(port.name)\"",
                detail: "the file declares an integer, and the model gives \(fraction)")
        }
        // A picture keeps the shape of its port.
        if port.shape.isStatic, port.shape.elementCount == values.count { shape = port.shape.dimensions }
        let bytes = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(1, values.count * port.elementType.byteCount), alignment: 8)
        defer { bytes.deallocate() }
        for (position, value) in values.enumerated() {
            ElementConversion.write(value, at: position, as: port.elementType, to: bytes)
        }
        return body(
            Shape(shape), UnsafeRawBufferPointer(rebasing: bytes[..<(values.count * port.elementType.byteCount)]))
    }

    func feature(_ index: Int) -> FeatureValue? { output(index).flatMap(FeatureValue.init) }

    func profile() throws(EngineError) -> [LayerProfile] {
        var layers: [LayerProfile] = []
        for graph in graphs { layers += try graph.profile() }
        return layers
    }
}
