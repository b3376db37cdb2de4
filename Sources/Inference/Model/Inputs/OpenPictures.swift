internal import FlowControl
internal import ImagePipeline

/// The cost of a pixel of a tensor that takes its picture's size, as the last inference had it: memory is taken, and
/// slots are given, by the size that a picture has.
struct OpenCost {
    /// Bytes of the outputs for each byte of the tensor. Until the first inference: those of a picture twice as large.
    private var outputs = 4.0
    /// Nanoseconds of inference for a pixel.
    private var time = 0.0

    /// Notes what an inference took.
    mutating func learn(pixels: Int, input: Int, output: Int, inference: UInt64) {
        guard pixels > 0, input > 0 else { return }
        outputs = Double(output) / Double(input)
        time = Double(inference) / Double(pixels)
    }

    /// Bytes of the tensor, of the outputs, and of the picture that is made of these at the size that was sent, before
    /// and after it is compressed.
    /// - Parameter sent: pixels of the picture that was sent; 0 where the model answers with no picture.
    func bytes(_ spec: ImageTensorSpec, sent: Int) -> Int {
        let tensor = Double(spec.byteCount)
        return Int(min(tensor + 2 * tensor * outputs + 6 * Double(sent) * outputs, 1e15))
    }

    /// Nanoseconds of inference, roughly.
    func inference(_ spec: ImageTensorSpec) -> UInt64 {
        UInt64(min(time * Double(spec.width) * Double(spec.height), 1e15))
    }
}

/// An item whose pictures have told their sizes.
struct SizedItem {
    /// The inputs, with the sizes of this item.
    var inputs: [InputPlan]
    /// The shapes of the pictures' tensors, by position.
    var shapes: [Int: Shape] = [:]
    /// The pictures that can be decoded here and now, by position.
    var pictures: [Int: FeatureValue] = [:]
    /// The memory of decoding, of the tensors and of the answer: one room, since whoever holds one must not wait for
    /// another.
    var room: DecodeBudget.Room?
    /// Nanoseconds of decoding in other processes, before the inference.
    var decoding: UInt64 = 0

    /// The tensors that take their pictures' sizes.
    var specs: [ImageTensorSpec] {
        shapes.keys.compactMap { position in
            if case .image(let pipeline) = inputs[position].kind { pipeline.spec } else { nil }
        }
    }
}

extension ImageDecodeOptions {
    /// Those that a prediction chooses.
    init(_ options: PredictionOptions) {
        self.init()
        cropAndScale = options.cropAndScale
        ignoreOrientation = options.ignoresOrientation
        part = options.place?.window.box
    }
}

extension EncodedImage {
    /// The way it is decoded: as a prediction chooses, and of a part of a picture that part.
    func decoding(_ options: PredictionOptions) -> ImageDecodeOptions {
        var decoding = ImageDecodeOptions(options)
        if let window { decoding.part = window.box }
        return decoding
    }
}

extension Shape {
    /// The shape of a picture's tensor with these sides.
    func settled(width: Int, height: Int, _ layout: TensorLayout) -> Shape {
        var dimensions = dimensions
        let first = dimensions.count - (layout == .nhwc ? 3 : 2)
        guard first >= 0 else { return self }
        (dimensions[first], dimensions[first + 1]) = (height, width)
        return Shape(dimensions)
    }
}

extension FeatureDescription {
    /// The shape of the tensor of a picture of its own size, for one with sides of so many pixels; nil for other
    /// inputs.
    package func shape(ofPicture side: Int) -> Shape? {
        guard let image, let size = image.openSize?.tensor(width: side, height: side) else { return nil }
        return shape.settled(width: size.width, height: size.height, image.layout)
    }
}
