internal import Inference
internal import Rollout
internal import SystemSupport

/// Comparisons on the routes that answer with the engine's own tensors.
extension TensorFormat {
    /// True if the answer is compared with another version's.
    var isCompared: Bool { run.route?.sample != nil }

    /// The question to the other version: an item, compared with the model's outputs for it.
    func shadow(of item: DictionaryFeatureProvider, _ outputs: TensorOutputs) -> ShadowWork {
        let picture = item.featureNames.lazy.compactMap { name -> EncodedImage? in
            guard case .image(let image)? = item.featureValue(for: name) else { return nil }
            return image
        }.first
        return ShadowWork(
            times: outputs.times, image: picture,
            answer: { [model = run.model.description] in outputs.copied.withViews { ComparableAnswer($0, of: model) } }
        ) { [options = run.options] (other, sample, deadline, slot) in
            let options = options.forOtherVersion(sample, deadline: deadline), asked = other.description
            let results = await other.tensors(of: [item], options: options, slot: slot) {
                (views, times) throws(InferenceError) in
                ShadowWork.Answer(answer: ComparableAnswer(views, of: asked), times: times)
            }
            return results.first ?? .failure(.modelNotReady(name: asked.name, reason: "there is no answer"))
        }
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
