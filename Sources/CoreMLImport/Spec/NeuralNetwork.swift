/// The contents of NeuralNetwork, NeuralNetworkClassifier and NeuralNetworkRegressor (NeuralNetwork.proto), which share
/// their field numbers.
package struct NeuralNetwork: Sendable {
    package var layers: [NetworkLayer] = []
    package var preprocessing: [NetworkPreprocessing] = []
    /// True if arrays have the ranks that the description declares; otherwise every blob is [Seq, B, C, H, W].
    package var hasExactArrays = false
    /// True if images are [1, C, H, W]; otherwise [1, 1, C, H, W].
    package var hasRank4Images = false
    package var classLabels: ClassLabels?
    /// The blob with a classifier's probabilities; if empty, the output of the last layer.
    package var labelProbabilityLayerName = ""

    /// The maximum number of layers, more than real networks have; a damaged file could claim one for every two bytes.
    private static let maximumLayers = 100_000

    package init(_ message: MessageReader) throws(Problem) {
        var reader = message
        while let field = try reader.next() {
            switch field.number {
            case 1:
                guard layers.count < Self.maximumLayers else {
                    throw Problem("the network has more than \(Self.maximumLayers) layers")
                }
                layers.append(
                    try located("layers[\(layers.count)]") { () throws(Problem) in try NetworkLayer(field.reader()) })
            case 2:
                preprocessing.append(
                    try located("preprocessing[\(preprocessing.count)]") { () throws(Problem) in
                        try NetworkPreprocessing(field.message())
                    })
            case 5: hasExactArrays = try field.signed() == 1
            case 6: hasRank4Images = try field.signed() == 1
            case 100: classLabels = .strings(try field.message().strings(1))
            case 101: classLabels = .integers(try field.message().integers(1))
            case 200: labelProbabilityLayerName = try field.string()
            default: break
            }
        }
    }
}

/// The labels of a classifier, in the order of its probabilities.
package enum ClassLabels: Sendable, Equatable {
    case strings([String])
    case integers([Int])

    package var count: Int {
        switch self {
        case .strings(let labels): labels.count
        case .integers(let labels): labels.count
        }
    }
}

/// A layer: its name, its input and output blobs, and its unparsed parameters.
package struct NetworkLayer: Sendable {
    package var name = ""
    package var inputs: [String] = []
    package var outputs: [String] = []
    /// The field number in the `oneof layer` of NeuralNetworkLayer; 0 if none is set.
    package var kind = 0
    /// True if updates may train the weights.
    var isUpdatable = false
    var body = Bytes.empty
    var depth = 0

    private static let maximumBlobs = 10_000

    init(_ message: MessageReader) throws(Problem) {
        var reader = message
        depth = reader.depth + 1
        while let field = try reader.next() {
            switch field.number {
            case 1: name = try field.string()
            case 2: inputs.append(try field.string())
            case 3: outputs.append(try field.string())
            case 10: isUpdatable = try field.bool()
            case 100...:
                kind = field.number
                body = try field.data()
            default: break
            }
            guard inputs.count + outputs.count <= Self.maximumBlobs else {
                throw Problem("the layer has more than \(Self.maximumBlobs) inputs and outputs")
            }
        }
    }

    func parameters() throws(Problem) -> Message { try Message(MessageReader(body, depth: depth)) }
}

/// A preprocessing step for an image.
package struct NetworkPreprocessing: Sendable {
    /// The input; if empty, the first image.
    package var featureName: String
    package var step: Step

    var isScaler: Bool { if case .scaler = step { true } else { false } }

    package enum Step: Sendable {
        case scaler(ImageScaler)
        /// Floats in the order C, H, W to subtract.
        case meanImage(Bytes)
        case none
    }

    init(_ message: Message) throws(Problem) {
        featureName = try message.string(1)
        step = .none
        if let scaler = try message.message(10) { step = .scaler(try ImageScaler(scaler)) }
        if let mean = try message.message(11) { step = .meanImage(try mean.packed(1, width: 4)) }
    }
}

/// Computes `channelScale` · x + the bias of the channel.
package struct ImageScaler: Sendable, Equatable {
    package var channelScale: Float
    package var redBias: Float
    package var greenBias: Float
    package var blueBias: Float
    package var grayBias: Float

    init(_ message: Message) throws(Problem) {
        let scale = try message.float(10)
        channelScale = scale == 0 ? 1 : scale
        blueBias = try message.float(20)
        greenBias = try message.float(21)
        redBias = try message.float(22)
        grayBias = try message.float(30)
        guard [channelScale, redBias, greenBias, blueBias, grayBias].allSatisfy(\.isFinite) else {
            throw Problem("the image scaler has numbers that are not finite")
        }
    }

    /// The biases in the order of the image's channels.
    package func biases(_ space: ImageFeature.ColorSpace) -> [Float] {
        switch space {
        case .rgb: [redBias, greenBias, blueBias]
        case .bgr: [blueBias, greenBias, redBias]
        case .grayscale, .grayscaleFloat16, .invalid: [grayBias]
        }
    }
}
