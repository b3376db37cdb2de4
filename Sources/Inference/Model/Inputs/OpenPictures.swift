internal import FlowControl
internal import ImagePipeline

/// The cost per pixel of a tensor that takes its picture's size, measured in the last inference. Memory and slots are
/// assigned by the size of each picture.
struct OpenCost {
    /// Bytes of the outputs for each byte of the tensor. Initially the ratio of a model that doubles width and height.
    private var outputs = 4.0
    /// Nanoseconds of inference for each pixel.
    private var time = 0.0

    /// Records the cost of an inference.
    mutating func learn(pixels: Int, input: Int, output: Int, inference: UInt64) {
        guard pixels > 0, input > 0 else { return }
        outputs = Double(output) / Double(input)
        time = Double(inference) / Double(pixels)
    }

    /// The memory in bytes of the tensor, of the outputs, and of the answer's picture before and after compression,
    /// which has the scale of the outputs and the size that was sent.
    /// - Parameter sent: pixels of the picture that was sent; 0 if the model's answer has no picture.
    func bytes(_ spec: ImageTensorSpec, sent: Int) -> Int {
        let tensor = Double(spec.byteCount)
        return Int(min(tensor + 2 * tensor * outputs + 6 * Double(sent) * outputs, 1e15))
    }

    /// The approximate nanoseconds of inference.
    func inference(_ spec: ImageTensorSpec) -> UInt64 {
        UInt64(min(time * Double(spec.width) * Double(spec.height), 1e15))
    }
}

/// An item with pictures of known sizes.
struct SizedItem {
    /// The inputs, with the sizes of this item's pictures.
    var inputs: [InputPlan]
    /// The shapes of the pictures' tensors, by position.
    var shapes: [Int: Shape] = [:]
    /// The pictures that this process can decode now, by position.
    var pictures: [Int: FeatureValue] = [:]
    /// The memory for decoding, for the tensors and for the answer: one reservation, because a holder of one must not
    /// wait for another.
    var room: DecodeBudget.Room?
    /// Nanoseconds of decoding in separate processes, before the inference.
    var decoding: UInt64 = 0

    /// The specifications of the tensors that take their pictures' sizes.
    var specs: [ImageTensorSpec] {
        shapes.keys.compactMap { position in
            if case .image(let pipeline) = inputs[position].kind { pipeline.spec } else { nil }
        }
    }
}

extension ImageDecodeOptions {
    /// The decode options that a prediction sets, without the orientation, which the picture's header states.
    init(_ options: PredictionOptions) {
        self.init()
        cropAndScale = options.cropAndScale
        size = options.size
        part = options.place?.window.box
    }
}

extension EncodedImage {
    /// The decode options: those of the prediction, with the picture's orientation, and limited to a part of the
    /// picture if the image is one.
    func decoding(_ options: PredictionOptions) -> ImageDecodeOptions {
        var decoding = ImageDecodeOptions(options)
        decoding.orientation = orientation ?? options.orientation
        if let window { decoding.part = window.box }
        return decoding
    }
}

extension Shape {
    /// The shape of a picture's tensor, with the given height and width.
    func resolved(width: Int, height: Int, _ layout: TensorLayout) -> Shape {
        var dimensions = dimensions
        let first = dimensions.count - (layout == .nhwc ? 3 : 2)
        guard first >= 0 else { return self }
        (dimensions[first], dimensions[first + 1]) = (height, width)
        return Shape(dimensions)
    }
}

extension FeatureDescription {
    /// The shape of an input tensor that takes its picture's size, for a square picture with sides of `side` pixels;
    /// nil for other inputs.
    package func shape(ofPicture side: Int) -> Shape? {
        guard let image, let size = image.openSize?.tensor(width: side, height: side) else { return nil }
        return shape.resolved(width: size.width, height: size.height, image.layout)
    }
}
