internal import ImagePipeline

/// What is done to one input on its way into the engine.
struct InputPlan: Sendable {
    let description: FeatureDescription
    /// The input's index in the engine.
    let index: Int
    let kind: Kind

    enum Kind: Sendable {
        case image(ImagePipeline)
        /// Numbers, each put through the transform where there is one.
        case array(LinearTransform?)
        /// Raw bytes of elements.
        case bytes
    }

    /// The bytes of the input's tensor; nil where its shape is dynamic.
    var byteCount: Int? {
        description.shape.elementCount.map { $0 * description.elementType.byteCount }
    }
}

/// What is done to one output on its way out.
struct OutputPlan: Sendable {
    let description: FeatureDescription
    /// The output's index in the engine.
    let index: Int
    let kind: Kind
    let linear: LinearTransform?
    let activation: ModelManifest.Activation?

    enum Kind: Sendable {
        case array
        case scalar
        case bytes
        case image(ModelManifest.ImageLayer, width: Int, height: Int)
    }
}

/// The whole way of a prediction through one model.
struct ModelPlan: Sendable {
    let inputs: [InputPlan]
    let outputs: [OutputPlan]
    /// Fixed shapes that the engine must give inputs whose axes are dynamic in the file.
    let inputShapes: [Int: Shape]
}
