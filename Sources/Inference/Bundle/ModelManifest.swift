package import FileFormats
package import ImagePipeline
package import JSON

/// A parsed `model.json`: TensorIO's format with Ocelli's additional keys (`layout`, `crop_and_scale`, `mean`, `std`,
/// `activation`, `runtime` and others, see docs/model-json.md).
package struct ModelManifest: Sendable {
    package var name = "", details = "", identifier = "", version = "1", author = "", license = ""
    /// The model file's name inside the bundle.
    package var file = ""
    package var backend = ModelFormat.tflite
    package var quantized = false
    package var type = ""
    package var inputs: [Layer] = []
    package var outputs: [Layer] = []
    /// The boxes, masks, keypoints and embeddings that `outputs` declares; each of their tensors is also one of the
    /// outputs.
    package var observations: [ObservationOutput] = []
    /// The stages, where the bundle is a pipeline of other models; nil for a model.
    package var pipeline: PipelineDescription?
    package var options: JSONValue?
    /// The entries of model.json that are marked as not decided yet (`$decide`), each with its place.
    package var undecided: [String] = []
    package var runtime = ModelRuntime()
    /// The share of the goldens that must be answered as expected; nil if model.json does not speak of them.
    package var goldenAgreement: Double?

    /// True if it takes one picture and gives labels, as image classifiers do.
    package var classifiesPictures: Bool {
        guard inputs.count == 1, case .image = inputs[0].kind else { return false }
        return outputs.contains { $0.labels != nil } || observations.contains(where: \.classifies)
    }

    /// One input or output.
    package struct Layer: Sendable {
        /// The place of its description: `inputs[0]`.
        package var path: String
        package var name: String
        package var kind: Kind
        /// The type of the elements where the bundle says so.
        package var elementType: ElementType?
        /// The shape as the bundle writes it: a picture's is [height, width, channels] whatever the tensor's layout.
        package var shape: Shape
        /// Quantization of inputs and dequantization of outputs.
        package var linear: LinearTransform?
        package var labels: [String]?
        package var activation: Activation?
        /// True if type and shape are the file's own: the bundle does not write them.
        package var isAsInFile = false
        /// The place of its name, if that is not the member `name`.
        package var namePath: String?
        /// The members that model.json gives it, where it says only what differs from the model file (Core ML).
        package var given: Set<String> = []

        package enum Kind: Sendable {
            case array
            /// Raw bytes of `dtype` elements (TensorIO's `string`).
            case bytes
            /// One number.
            case scalar
            case image(ImageLayer)

            /// Its name in the bundle.
            package var feature: FeatureKind {
                switch self {
                case .array: .array
                case .bytes: .string
                case .scalar: .scalar
                case .image: .image
                }
            }
        }
    }

    /// The form of a picture in a layer.
    package struct ImageLayer: Sendable {
        package var channelOrder = ChannelOrder.rgb
        package var layout = TensorLayout.nhwc
        /// Per channel in RGB order: tensor = pixel * scale + bias, or for outputs pixel = (tensor + bias) * scale.
        package var scale: [Double], bias: [Double]
        /// The places of arrays in model.json that give the colours different numbers: `inputs[0].normalize.mean`.
        package var listedColors: [String] = []
        package var cropAndScale = CropAndScale.centerCrop
        package var resampler = Resampler.bilinear
        /// Mean and standard deviation, if the bundle has them; scale and bias are then approximations.
        package var normalization: PixelNormalization?
        package var resizeShorterSide: Int?
        /// Scale both sides to this before the crop.
        package var resizeExactly: ImageSize?
        /// Both sides by one factor, so that the picture lies within a size or covers it.
        package var resizeKeepingShape: ProportionalResize?
        /// Crop the picture as it is.
        package var keepsSize = false
        /// The sizes of a tensor that takes the picture's.
        package var openSize: OpenSize?
        package var centering = Centering.halfEven
        package var alignment = FitAlignment.center
        package var decodeMargin = 3.0
        package var fillColor: [UInt8] = [0, 0, 0]
        package var backgroundColor: [UInt8] = [255, 255, 255]

        /// The warnings for a tensor of blue, green and red: its training code may list numbers in that order.
        package var advice: [String] {
            listedColors.map { place in
                "\(place): the numbers of an array are those of red, green and blue, for \"BGR\" too, where training code often "
                    + "lists blue first (Caffe, OpenCV); {\"r\": ..., \"g\": ..., \"b\": ...} says which is which"
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

/// The settings for running a model, according to its bundle (`runtime` in model.json); nil leaves one to the
/// configuration.
package struct ModelRuntime: Sendable {
    package var device: String?
    package var engine: EnginePreference?
    package var hint: PerformanceHint?
    package var precision: InferencePrecision?
    package var integerWeights: Bool?
    package var instances: Int?
    package var maxInFlight: Int?
    /// Threads of a prediction that runs alone; 0: those of any other.
    package var loneThreads: Int?
    package var load: LoadPolicy?
    package var idleUnloadSeconds: Int?
    package var warmUp: WarmUpSettings?
    /// The maximum number of items of an inference, if more than one.
    package var batch: Int?

    /// The warm-up before the model becomes ready.
    package struct WarmUpSettings: Sendable {
        /// The picture files, each with its path in model.json; empty: zeros.
        package var pictures: [(path: String, file: String)] = []
        /// The number of runs of each on each infer request; 0 for no warm-up.
        package var runs = 1
    }
}

/// The time when a model is loaded.
public enum LoadPolicy: String, Sendable, CaseIterable {
    /// At start; the daemon is ready when all of these are.
    case eager
    /// At the first request.
    case lazy
}
