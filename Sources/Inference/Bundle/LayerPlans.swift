internal import JSON
internal import ImagePipeline

/// The processing of one input on its way into the engine.
struct InputPlan: Sendable {
    var description: FeatureDescription
    /// The input's index in the engine.
    let index: Int
    let kind: Kind

    enum Kind: Sendable {
        case image(ImagePipeline)
        /// Numbers, each put through the transform where there is one.
        case array(LinearTransform?)
        /// Raw bytes of elements.
        case bytes
        /// A string or a dictionary, as a value.
        case feature
    }

    /// The value of the input where a prediction leaves it out; nil if the input is required. For an array, the value
    /// of each element; NaN for a missing value.
    var fallback: Double?
    /// True if 64-bit numbers are computed in 64 bits.
    var isExact = false

    /// True if it takes a picture.
    var isPicture: Bool { if case .image = kind { true } else { false } }

    /// The pipeline of a picture whose tensor takes its size; nil for anything else.
    var openPicture: ImagePipeline? {
        guard case .image(let pipeline) = kind, pipeline.spec.openSize != nil else { return nil }
        return pipeline
    }

    /// The input for one picture.
    func settled(_ pipeline: ImagePipeline) -> InputPlan {
        InputPlan(description: description, index: index, kind: .image(pipeline), fallback: fallback, isExact: isExact)
    }

    /// The bytes of the input's tensor; nil if its shape is dynamic.
    var byteCount: Int? {
        description.shape.elementCount.map { $0 * description.elementType.byteCount }
    }
}

/// The processing of one output on its way out.
struct OutputPlan: Sendable {
    let description: FeatureDescription
    /// The output's index in the engine.
    let index: Int
    let kind: Kind
    let linear: LinearTransform?
    let activation: ModelManifest.Activation?
    /// The type of the scores' elements, where the output itself is the label of the best.
    var scoreType = ElementType.float32

    enum Kind: Sendable {
        case array
        case scalar
        case bytes
        /// A picture; -1 for a side that each inference chooses.
        case image(ModelManifest.ImageLayer, width: Int, height: Int)
        /// A string or a dictionary, which the engine gives as a value.
        case feature
        /// The label with the greatest score in the tensor.
        case classLabel(ClassLabelList)
    }
}

/// The whole way of a prediction through one model.
struct ModelPlan: Sendable {
    let inputs: [InputPlan]
    let outputs: [OutputPlan]
    /// Fixed shapes that the engine must give inputs whose axes are dynamic in the file.
    let inputShapes: [Int: Shape]
    /// The metadata in the model file; nil for formats that have none.
    var about: ModelAbout?
    /// Warnings about likely mistakes in the model file, which can be served nonetheless.
    var advice: [String] = []

    /// True if a tensor takes the size of its picture.
    var hasOpenPictures: Bool { inputs.contains { $0.openPicture != nil } }

    /// True if it answers with a picture whose size each inference chooses.
    var drawsOpenPictures: Bool {
        outputs.contains {
            if case .image(_, let width, let height) = $0.kind {
                width == Shape.dynamic || height == Shape.dynamic
            } else {
                false
            }
        }
    }

    /// True if all inputs can be zeros: none is a string, or of open shape.
    var hasZeros: Bool {
        inputs.allSatisfy { $0.description.shape.isStatic && $0.description.elementType != .string }
    }
}
