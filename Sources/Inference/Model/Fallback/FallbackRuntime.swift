internal import FlowControl

/// A model file compiled by the runtime of its format, with its infer requests.
final class FallbackRuntime: Sendable {
    /// The data that it is compiled from.
    struct Recipe: Sendable {
        let engine: any Engine
        let source: ModelSource
        let stamp: BundleStamp
        let options: CompileOptions
        /// The name and version of the engine that runs the model.
        let first: String
        /// The inputs and outputs that this engine has.
        let inputs: [TensorPort], outputs: [TensorPort]
        /// The number of infer requests; nil for as many as keep the device busy.
        let instances: Int?

        /// - Parameters:
        ///   - engine: the runtime.
        ///   - compiled: the model, as its engine `first` has compiled it with the options of `configuration`.
        init(
            _ engine: any Engine, source: ModelSource, stamp: BundleStamp, first: any Engine,
            compiled: any CompiledModel, configuration: ModelConfiguration
        ) {
            self.engine = engine
            self.source = source
            self.stamp = stamp
            self.first = first.version
            inputs = compiled.inputs
            outputs = compiled.outputs
            var options = configuration.compile
            // The runtime may not have the device, and is compiled from the file itself.
            options.device = "CPU"
            options.cacheDirectory = nil
            self.options = options
            instances = configuration.instances
        }
    }

    let requests: RequestPool
    /// The checks of shapes, for a runtime that must not run with all shapes.
    let checks: ShapeChecks
    private let compiled: any CompiledModel
    /// The part of the memory for decoding that it may take for sizes of inputs.
    private let shapeMemory: DecodeBudget.Reservation

    /// Reads and compiles the file. Blocks.
    /// - Parameter waiters: the maximum number of inferences that wait for an infer request: the number of slots of the
    ///   model.
    init(_ recipe: Recipe, waiters: Int) throws(EngineError) {
        let compiled = try recipe.engine.read(recipe.source).compile(recipe.options)
        func failure(_ reason: String) -> EngineError {
            EngineError(
                kind: .invalidModel, operation: "compile the model for inputs that are refused", detail: reason)
        }
        guard recipe.stamp.isCurrent else { throw failure("its files have changed since it was loaded") }
        guard Self.agree(recipe.inputs, compiled.inputs), Self.agree(recipe.outputs, compiled.outputs, ranks: false)
        else { throw failure("the engines see other inputs or outputs") }
        self.compiled = compiled
        shapeMemory = DecodeBudget.shared.reservation(compiled.shapeMemory)
        checks = ShapeChecks(waiters: waiters) { shapes in
            Result { () throws(EngineError) in try compiled.check(shapes) }
        }
        requests = try RequestPool(
            compiled, count: recipe.instances ?? compiled.optimalRequestCount, waiters: waiters)
    }

    /// True if both engines have the same ports. The ranks of outputs may be known to one of them only.
    private static func agree(_ ours: [TensorPort], _ theirs: [TensorPort], ranks: Bool = true) -> Bool {
        ours.map(\.elementType) == theirs.map(\.elementType)
            && (!ranks || ours.map(\.shape.dimensions.count) == theirs.map(\.shape.dimensions.count))
    }

    /// A tensor of the runtime with the contents of another engine's.
    func tensor(like tensor: any EngineTensor) throws(EngineError) -> any EngineTensor {
        // Its strings belong to no engine.
        if tensor is StringTensor { return tensor }
        let copy = try compiled.makeTensor(elementType: tensor.elementType, shape: tensor.shape)
        guard copy.bytes.count == tensor.bytes.count else {
            throw EngineError(
                kind: .failure, operation: "copy an input of shape \(tensor.shape)", detail: "the sizes differ")
        }
        copy.bytes.copyMemory(from: UnsafeRawBufferPointer(tensor.bytes))
        return copy
    }
}
