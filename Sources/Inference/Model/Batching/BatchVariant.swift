/// A model compiled a second time with an open batch axis, so that one inference can run several items.
///
/// Small models benefit: all items share the overhead of an inference. Models whose activations then exceed the
/// processor's caches become slower, so batching is an option of the bundle.
final class BatchVariant: Sendable {
    let compiled: any CompiledModel
    /// The maximum number of items of one inference.
    let limit: Int
    let requests: RequestPool

    /// Reads and compiles the model again. Blocks.
    /// - Parameters:
    ///   - limit: `runtime.batch`; nil is returned for 1.
    ///   - instances: the number of infer requests of the model itself; the variant gets as many.
    init?(
        limit: Int, bundle: ModelBundle, plan: ModelPlan, engine: any Engine, configuration: ModelConfiguration,
        instances: Int
    ) throws(InferenceError) {
        guard limit > 1 else { return nil }
        func problem(_ reason: String) -> InferenceError {
            .invalidBundle(name: bundle.name, problems: [BundleProblem(path: "runtime.batch", reason: reason)])
        }
        var options = configuration.compile
        for input in plan.inputs {
            var shape = input.description.shape
            guard shape.isStatic, shape.dimensions.first == 1, input.description.elementType != .string else {
                throw problem(
                    "is \(limit), but input \"\(input.description.name)\" of shape \(shape) has no batch axis that can be opened"
                )
            }
            shape.dimensions[0] = Shape.dynamic
            options.inputShapes[input.index] = shape
        }
        do throws(EngineError) {
            compiled = try engine.read(configuration.source(bundle.source)).compile(options)
        } catch {
            throw problem("is \(limit), but the model does not support an open batch axis: \(error.message)")
        }
        for output in plan.outputs {
            let single = output.description.shape.elementCount
            var shape = output.index < compiled.outputs.count ? compiled.outputs[output.index].shape : []
            let isOpen = shape.dimensions.first == Shape.dynamic
            if isOpen { shape.dimensions[0] = 1 }
            // If the model mixes items, or an output lacks the axis, the items' results could not be separated.
            guard isOpen, shape.isStatic, single == nil || shape.elementCount == single else {
                throw problem("is \(limit), but output \"\(output.description.name)\" has no batch axis")
            }
        }
        self.limit = limit
        do throws(EngineError) {
            requests = try RequestPool(compiled, count: instances, waiters: 65_536)
        } catch {
            throw .engine(error)
        }
    }
}

/// One item's part of a tensor that holds several items.
final class BatchItemTensor: EngineTensor {
    let elementType: ElementType
    let shape: Shape
    /// The memory belongs to the whole tensor, which this object keeps alive.
    var bytes: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: whole.bytes[range])
    }
    private let whole: any EngineTensor
    private let range: Range<Int>

    /// - Parameters:
    ///   - item: the index of the item, from 0 to `count` - 1.
    ///   - whole: a tensor with the batch axis first.
    init(_ item: Int, of count: Int, in whole: any EngineTensor) {
        elementType = whole.elementType
        shape = Shape([1] + whole.shape.dimensions.dropFirst())
        self.whole = whole
        let size = whole.bytes.count / max(1, count)
        range = item * size..<(item + 1) * size
    }
}

/// One item's part of the outputs of an inference of several items.
struct BatchItemOutputs: EngineOutputs {
    let request: any InferRequest
    let item: Int, count: Int

    func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R {
        let result: R? = try request.withOutput(index) { shape, raw in
            guard shape.dimensions.first == count, count > 0, raw.count % count == 0 else { return nil }
            let size = raw.count / count
            return body(
                Shape([1] + shape.dimensions.dropFirst()),
                UnsafeRawBufferPointer(rebasing: raw[item * size..<(item + 1) * size]))
        }
        guard let result else {
            throw EngineError(
                kind: .failure, operation: "split output \(index) of a batch of \(count)",
                detail: "it has an unexpected size")
        }
        return result
    }
}
