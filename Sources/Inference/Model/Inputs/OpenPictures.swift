internal import FlowControl
internal import ImagePipeline

/// The cost of a pixel of a tensor that takes its picture's size, as the last inference had it: memory is taken, and slots are given, by the
/// size that a picture has.
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

    /// Bytes of the tensor, of the outputs, and of the answer that is made of these.
    func bytes(_ spec: ImageTensorSpec) -> Int {
        let tensor = Double(spec.byteCount)
        return Int(min(tensor + 2 * tensor * outputs, 1e15))
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
    /// The memory of decoding, of the tensors and of the answer: one room, since whoever holds one must not wait for another.
    var room: DecodeBudget.Room?

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
    }
}

extension Shape {
    /// The shape with the sides of a picture's tensor.
    func settled(_ spec: ImageTensorSpec) -> Shape {
        var dimensions = dimensions
        let first = dimensions.count - (spec.layout == .nhwc ? 3 : 2)
        guard first >= 0 else { return self }
        (dimensions[first], dimensions[first + 1]) = (spec.height, spec.width)
        return Shape(dimensions)
    }
}
