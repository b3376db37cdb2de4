internal import ImagePipeline
internal import Synchronization

/// A picture as a prediction has put it into its tensor, for another model whose tensors are made alike: it need not
/// decode once more.
package final class DecodedInput: Sendable {
    private let kept = Mutex<Kept?>(nil)

    private struct Kept: Sendable {
        let spec: ImageTensorSpec
        let bytes: [UInt8]
        let image: ImageInfo
    }

    package init() {}

    /// Keeps a copy of the tensor of a model's one input. The first picture counts: a request with several is decoded
    /// again.
    func keep(_ tensor: any EngineTensor, of inputs: [InputPlan], image: ImageInfo?) {
        guard let image, inputs.count == 1, case .image(let pipeline)? = inputs.first?.kind else { return }
        let copy = Kept(spec: pipeline.spec, bytes: [UInt8](UnsafeRawBufferPointer(tensor.bytes)), image: image)
        kept.withLock { $0 = $0 ?? copy }
    }

    /// Puts the picture into the tensor of a model's one input, where that is made alike.
    /// - Returns: the picture; nil if nothing was put into it.
    func fill(_ tensor: any EngineTensor, of inputs: [InputPlan]) -> ImageInfo? {
        guard inputs.count == 1, case .image(let pipeline)? = inputs.first?.kind,
            let kept = kept.withLock({ $0 }), kept.spec == pipeline.spec, kept.bytes.count == tensor.bytes.count
        else { return nil }
        tensor.bytes.copyBytes(from: kept.bytes)
        return kept.image
    }
}
