internal import FlowControl
internal import Inference
internal import Rollout
internal import SystemSupport
internal import Tasks

/// Comparisons on the routes that answer with the engine's own tensors.
extension TensorRun {
    /// The question to the other version; nil if the rollout does not compare the request.
    /// - Parameters:
    ///   - item: the request's first item, followed by the model's outputs for it.
    ///   - isAlone: true if it is the request's only item.
    func shadow(
        of item: DictionaryFeatureProvider, _ outputs: Outputs<CopiedOutputs>, _ route: RolloutRoute?, isAlone: Bool
    ) -> ShadowWork? {
        guard route?.sample != nil else { return nil }
        let picture = item.featureNames.lazy.compactMap { name -> EncodedImage? in
            guard case .image(let image)? = item.featureValue(for: name) else { return nil }
            return image
        }.first
        let model = slots.model.description, options = slots.options
        var work = ShadowWork(
            times: outputs.times, image: picture,
            answer: { outputs.value.withViews { ComparableAnswer($0, of: model) } }
        ) { (other, sample, deadline, slot) in
            var options = options
            (options.keeps, options.decoded) = (nil, sample)
            options.deadline = deadline
            options.claim = .usual
            let asked = other.description
            let results = await other.tensors(of: [item], options: options, slot: slot) {
                (views, times) throws(InferenceError) in
                ShadowWork.Answer(answer: ComparableAnswer(views, of: asked), times: times)
            }
            return results.first ?? .failure(.modelNotReady(name: asked.name, reason: "there is no answer"))
        }
        work.isAlone = isAlone
        return work
    }
}

extension ComparableAnswer {
    /// Tensors by the names of their outputs. Tensors of strings are compared by the hash of their bytes.
    init(_ views: [TensorView], of model: ModelDescription) {
        var values: [String: OutputValue] = [:]
        for view in views where model.outputs.indices.contains(view.index) {
            let output = model.outputs[view.index]
            let array = try? MultiArray(elementType: output.elementType, shape: view.shape, bytes: [UInt8](view.bytes))
            values[output.name] =
                if let array { .array(shape: view.shape.dimensions, array.doubles) } else {
                    .text(SHA256.text(SHA256.digest([UInt8](view.bytes))))
                }
        }
        self = .values(values)
    }
}
