package import EngineAPI
package import FileFormats
package import ImagePipeline
package import JSON

/// A parsed `model.json`: TensorIO's format with Ocelli's additional keys (`layout`, `crop_and_scale`, `mean`, `std`,
/// `activation`, `runtime` and others, see docs/model-json.md).
package struct ModelManifest: Sendable {
    package var name = "", details = "", identifier = "", version = "1", author = "", license = ""
    /// The path of the model file inside the bundle.
    package var file = ""
    package var backend = ModelFormat.tflite
    package var quantized = false
    package var type = ""
    package var inputs: [Layer] = []
    package var outputs: [Layer] = []
    /// The boxes, masks, keypoints and embeddings that `outputs` declares; each of their tensors is also one of the
    /// outputs.
    package var observations: [ObservationOutput] = []
    /// The stages if the bundle is a pipeline of other models; nil for a model.
    package var pipeline: PipelineDescription?
    /// The networks if the bundle is a reader of text; nil for other models.
    package var reader: ReaderDescription?
    /// The networks if the bundle embeds texts; nil for other models.
    package var words: WordsDescription?
    /// The labels if the bundle is a placeholder, which has no model yet; nil for others.
    package var placeholder: [String]?
    package var options: JSONValue?
    /// The undecided entries of model.json (`$decide`), each with its path.
    package var undecided: [String] = []
    package var runtime = ModelRuntime()
    /// The fraction of the goldens that must be answered as expected; nil if model.json does not set it.
    package var goldenAgreement: Double?

    /// True if it takes one picture and returns labels, as image classifiers do.
    package var classifiesPictures: Bool {
        guard inputs.count == 1, case .image = inputs[0].kind else { return false }
        return outputs.contains { $0.labels != nil } || observations.contains(where: \.classifies)
    }

    /// Scales the pictures of a recognizer of text as lines, if its input has a fixed height and an open width.
    mutating func scaleLines() {
        guard inputs.count == 1, case .image(var image) = inputs[0].kind, let size = image.openSize,
            size.minimum.height == size.maximum.height,
            observations.contains(where: { if case .text = $0.kind { true } else { false } })
        else { return }
        image.openSize = ReaderDescription.sizeOfLine(
            height: size.minimum.height,
            widths: size.minimum.width...max(size.minimum.width, size.maximum.width), multiple: size.multiple.width)
        image.alignment = .topLeft
        inputs[0].kind = .image(image)
        // Readers compute in 32-bit floats unless model.json says otherwise.
        runtime.precision = runtime.precision ?? .float32
    }

    /// One input or output.
    package struct Layer: Sendable {
        /// The path of its description: `inputs[0]`.
        package var path: String
        package var name: String
        package var kind: Kind
        /// The element type; nil if the bundle does not state it.
        package var elementType: ElementType?
        /// The shape as the bundle states it: [height, width, channels] for a picture, regardless of the tensor's
        /// layout.
        package var shape: Shape
        /// The quantization of an input or the dequantization of an output.
        package var linear: LinearTransform?
        package var labels: [String]?
        package var activation: Activation?
        /// True if type and shape are those of the file, because the bundle does not state them.
        package var isAsInFile = false
        /// The path of its name, if that is not the member `name`.
        package var namePath: String?
        /// The members that model.json sets, if it states only the differences from the model file (Core ML).
        package var given: Set<String> = []

        package enum Kind: Sendable {
            case array
            /// Raw bytes of `dtype` elements (TensorIO's `string`).
            case bytes
            /// One number.
            case scalar
            case image(ImageLayer)
            /// A depth for each position of the picture.
            case depth

            /// The name of the kind in the bundle.
            package var feature: FeatureKind {
                switch self {
                case .array: .array
                case .bytes: .string
                case .scalar: .scalar
                case .image: .image
                case .depth: .depth
                }
            }
        }
    }

    /// The form of a picture in a layer.
    package struct ImageLayer: Sendable {
        package var channelOrder = ChannelOrder.rgb
        package var layout = TensorLayout.nhwc
        /// For each channel in RGB order: tensor = pixel * scale + bias, or for outputs pixel = (tensor + bias) *
        /// scale.
        package var scale: [Double], bias: [Double]
        /// The paths of arrays in model.json that have different numbers for the colors: `inputs[0].normalize.mean`.
        package var listedColors: [String] = []
        package var cropAndScale = CropAndScale.centerCrop
        package var resampler = Resampler.bilinear
        /// Mean and standard deviation, if the bundle has them; scale and bias are then approximations.
        package var normalization: PixelNormalization?
        package var resizeShorterSide: Int?
        /// The size that both sides are scaled to before the crop.
        package var resizeExactly: ImageSize?
        /// Scales both sides by one factor, so that the picture fits into a size or covers it.
        package var resizeKeepingShape: ProportionalResize?
        /// True if the picture is cropped without scaling.
        package var keepsSize = false
        /// The allowed sizes of a tensor that takes the picture's size.
        package var openSize: OpenSize?
        package var centering = Centering.halfEven
        package var alignment = FitAlignment.center
        package var decodeMargin = 3.0
        package var fillColor: [UInt8] = [0, 0, 0]
        package var backgroundColor: [UInt8] = [255, 255, 255]

        /// The warnings for a tensor in the order blue, green, red: its training code may list numbers in that order.
        package var advice: [String] {
            listedColors.map { place in
                "\(place): the numbers of an array are those of red, green and blue, for \"BGR\" too, where training code often "
                    + "lists blue first (Caffe, OpenCV); {\"r\": ..., \"g\": ..., \"b\": ...} names the channels"
            }
        }
    }

    /// Warnings about likely mistakes in its pictures.
    package var advice: [String] {
        (inputs + outputs).flatMap { layer -> [String] in
            if case .image(let image) = layer.kind, image.channelOrder == .bgr { image.advice } else { [] }
        }
    }

    package enum Activation: String, Sendable, CaseIterable {
        case softmax, sigmoid
    }
}

/// The two orders in which TensorIO applies scale and bias.
package enum LinearTransform: Sendable, Hashable {
    /// (value + bias) * scale: quantization of an input.
    case biasThenScale(scale: Double, bias: Double)
    /// value * scale + bias: dequantization of an output.
    case scaleThenBias(scale: Double, bias: Double)

    /// Applies the transform.
    @inline(__always)
    package func callAsFunction(_ value: Double) -> Double {
        switch self {
        case .biasThenScale(let scale, let bias): (value + bias) * scale
        case .scaleThenBias(let scale, let bias): value * scale + bias
        }
    }
}

/// The settings of a bundle for running its model (`runtime` in model.json); nil values use the configuration.
package struct ModelRuntime: Sendable {
    package var device: String?
    package var engine: EnginePreference?
    package var hint: PerformanceHint?
    package var precision: InferencePrecision?
    package var integerWeights: Bool?
    package var instances: Int?
    package var maxInFlight: Int?
    /// The number of threads of a single-stream prediction; 0 uses those of any other prediction.
    package var loneThreads: Int?
    package var load: LoadPolicy?
    package var idleUnloadSeconds: Int?
    package var warmUp: WarmUpSettings?
    /// The maximum number of items of an inference, if more than one.
    package var batch: Int?
    /// True if the model's pictures are watched for drift.
    package var drift: Bool?

    /// The warm-up before the model becomes ready.
    package struct WarmUpSettings: Sendable {
        /// The picture files, each with its path in model.json; empty to use zeros.
        package var pictures: [(path: String, file: String)] = []
        /// The number of runs of each picture on each infer request; 0 disables the warm-up.
        package var runs = 1
    }

    /// No settings.
    package init() {}
}
