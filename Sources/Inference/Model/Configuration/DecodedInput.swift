internal import ImagePipeline
internal import Synchronization

/// A decoded picture in the form of a model's input tensor, for another model whose input has the same form, so that
/// the picture need not be decoded again.
package final class DecodedInput: Sendable {
    private let kept = Mutex<Kept?>(nil)

    private struct Kept: Sendable {
        let spec: ImageTensorSpec
        let bytes: [UInt8]
        let image: ImageInfo
    }

    package init() {}

    /// Keeps a copy of the tensor of a model with one input. Only the first picture is kept: a request with several
    /// decodes them again.
    func keep(_ tensor: any EngineTensor, of inputs: [InputPlan], image: ImageInfo?) {
        guard let image, inputs.count == 1, case .image(let pipeline)? = inputs.first?.kind else { return }
        let copy = Kept(spec: pipeline.spec, bytes: [UInt8](UnsafeRawBufferPointer(tensor.bytes)), image: image)
        kept.withLock { $0 = $0 ?? copy }
    }

    /// Copies the picture into the tensor of a model with one input, if its form is the same.
    /// - Returns: the picture; nil if nothing was copied.
    func fill(_ tensor: any EngineTensor, of inputs: [InputPlan]) -> ImageInfo? {
        guard inputs.count == 1, case .image(let pipeline)? = inputs.first?.kind,
            let kept = kept.withLock({ $0 }), kept.spec == pipeline.spec, kept.bytes.count == tensor.bytes.count
        else { return nil }
        tensor.bytes.copyBytes(from: kept.bytes)
        return kept.image
    }
}
