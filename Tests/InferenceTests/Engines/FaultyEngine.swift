import Foundation
import Inference
import Synchronization

/// An engine that changes the answers of another one by a planted fault.
final class FaultyEngine: Engine {
    enum Fault: String, CaseIterable, CustomStringConvertible, Sendable {
        /// The last axis is longer by one.
        case shape
        /// The second channel is zero.
        case channel
        /// From the second inference of a request on, the answer of the inference before.
        case stale
        /// The last value is NaN; the largest value for integers.
        case nan
        /// One value in 10,000 is off by a quarter of the range.
        case oneValue
        /// A twentieth of the answer of the inference before is added.
        case depends

        var description: String { rawValue }
    }

    private let base: any Engine
    private let fault: Fault?
    var version: String { base.version }
    /// Decisions are kept for the process: each engine of a test makes its own.
    let build = UUID().uuidString
    var comparesStreams: Bool { false }

    /// - Parameter fault: nil for the answers of the other engine.
    init(_ base: any Engine, _ fault: Fault?) {
        self.base = base
        self.fault = fault
    }

    func availableDevices() throws(EngineError) -> [ComputeDevice] { try base.availableDevices() }

    func read(_ source: ModelSource) throws(EngineError) -> any ModelFile {
        var source = source
        source.engine.preference = .openvino
        return File(base: try base.read(source), fault: fault)
    }

    private struct File: ModelFile {
        let base: any ModelFile
        let fault: Fault?
        var inputs: [TensorPort] { base.inputs }
        var outputs: [TensorPort] { base.outputs }
        func inputIndex(named name: String) -> Int? { base.inputIndex(named: name) }
        func outputIndex(named name: String) -> Int? { base.outputIndex(named: name) }
        func compile(_ options: CompileOptions) throws(EngineError) -> any CompiledModel {
            Compiled(base: try base.compile(options), fault: fault)
        }
    }

    private struct Compiled: CompiledModel {
        let base: any CompiledModel
        let fault: Fault?
        var inputs: [TensorPort] { base.inputs }
        var outputs: [TensorPort] { base.outputs }
        var optimalRequestCount: Int { base.optimalRequestCount }
        var loadedFromCache: Bool { base.loadedFromCache }
        var executionDevices: String { base.executionDevices }
        func check(_ shapes: [Int: Shape]) throws(EngineError) { try base.check(shapes) }
        func makeRequest() throws(EngineError) -> any InferRequest {
            Request(try base.makeRequest(), fault, outputs.map(\.elementType))
        }
        func makeTensor(elementType: ElementType, shape: Shape) throws(EngineError) -> any EngineTensor {
            try base.makeTensor(elementType: elementType, shape: shape)
        }
    }

    private final class Request: InferRequest {
        private let base: any InferRequest
        private let fault: Fault?
        private let types: [ElementType]
        /// The right answers of this inference and of the one before, by output.
        private let answers = Mutex<(now: [Int: [Double]], before: [Int: [Double]])>(([:], [:]))

        init(_ base: any InferRequest, _ fault: Fault?, _ types: [ElementType]) {
            self.base = base
            self.fault = fault
            self.types = types
        }

        func setInput(_ index: Int, to tensor: any EngineTensor) throws(EngineError) {
            try base.setInput(index, to: tensor)
        }
        func start(completion: @escaping @Sendable () -> Void) throws(EngineError) {
            answers.withLock { $0 = ([:], $0.now) }
            try base.start(completion: completion)
        }
        func finish() throws(EngineError) {
            try base.finish()
            for (index, type) in types.enumerated() {
                let values = try base.withOutput(index) { _, raw in
                    var values: [Double] = []
                    ElementConversion.read(raw, as: type) { values.append($1) }
                    return values
                }
                answers.withLock { $0.now[index] = values }
            }
        }
        func cancel() { base.cancel() }
        func profile() throws(EngineError) -> [LayerProfile] { try base.profile() }

        func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R {
            let (now, before) = answers.withLock { ($0.now[index] ?? [], $0.before[index]) }
            return try base.withOutput(index) { shape, raw in
                guard let fault else { return body(shape, raw) }
                let (shape, values) = Self.change(now, before, shape, fault)
                let type = types[index]
                let memory = UnsafeMutableRawBufferPointer.allocate(
                    byteCount: values.count * type.byteCount, alignment: 64)
                defer { memory.deallocate() }
                for (place, value) in values.enumerated() {
                    ElementConversion.write(
                        value.isNaN && !type.isFloatingPoint ? .greatestFiniteMagnitude : value, at: place, as: type,
                        to: memory)
                }
                return body(shape, UnsafeRawBufferPointer(memory))
            }
        }

        private static func change(
            _ values: [Double], _ before: [Double]?, _ shape: Shape, _ fault: Fault
        ) -> (Shape, [Double]) {
            var shape = shape, values = values
            switch fault {
            case .shape:
                let last = shape.dimensions.count - 1
                shape.dimensions[last] += 1
                values += values
                values = Array(values.prefix(shape.elementCount ?? 0))
            case .channel:
                let size = shape.dimensions.dropFirst(2).reduce(1, *)
                for place in size..<2 * size { values[place] = 0 }
            case .stale: if let before, before.count == values.count { values = before }
            case .nan: values[values.count - 1] = .nan
            case .oneValue:
                let range = (values.max() ?? 0) - (values.min() ?? 0)
                for place in stride(from: values.count / 3, to: values.count, by: 10_000) {
                    values[place] += values[place] > (values.min() ?? 0) + range / 2 ? -range / 4 : range / 4
                }
            case .depends:
                guard let before, before.count == values.count else { break }
                values = zip(values, before).map { $0 + $1 / 20 }
            }
            return (shape, values)
        }
    }
}
