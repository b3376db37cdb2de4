package import EngineAPI
package import ImagePipeline
internal import JSON

/// The processing of one input before inference.
package struct InputPlan: Sendable {
    package var description: FeatureDescription
    /// The input's index in the engine.
    package let index: Int
    package let kind: Kind

    package enum Kind: Sendable {
        case image(ImagePipeline)
        /// Numbers, with the transform that is applied to each; nil if they are not transformed.
        case array(LinearTransform?)
        /// Raw bytes of elements.
        case bytes
        /// A string or a dictionary, passed to the engine as a value.
        case feature
    }

    /// The value of the input if a prediction omits it; nil if the input is required. For an array, the value of each
    /// element; NaN for a missing value.
    package var fallback: Double?
    /// True if the engine computes 64-bit numbers in 64 bits.
    package var isExact = false

    /// True if it takes a picture.
    package var isPicture: Bool { if case .image = kind { true } else { false } }

    /// The pipeline of a picture with a tensor of the picture's size; nil for other inputs.
    package var openPicture: ImagePipeline? {
        guard case .image(let pipeline) = kind, pipeline.spec.openSize != nil else { return nil }
        return pipeline
    }

    /// The input with the pipeline of one picture.
    package func resolved(_ pipeline: ImagePipeline) -> InputPlan {
        InputPlan(description: description, index: index, kind: .image(pipeline), fallback: fallback, isExact: isExact)
    }

    /// The bytes of the input's tensor; nil if its shape is dynamic.
    var byteCount: Int? {
        description.shape.elementCount.map { $0 * description.elementType.byteCount }
    }
}

/// The processing of one output after inference.
package struct OutputPlan: Sendable {
    package let description: FeatureDescription
    /// The output's index in the engine.
    package let index: Int
    package let kind: Kind
    package let linear: LinearTransform?
    package let activation: ModelManifest.Activation?
    /// The element type of the scores, if the output itself is the label with the highest score.
    package var scoreType = ElementType.float32

    package enum Kind: Sendable {
        case array
        case scalar
        case bytes
        /// A picture; a side is -1 if each inference determines it.
        case image(ModelManifest.ImageLayer, width: Int, height: Int)
        /// A depth for each position of the picture.
        case depth
        /// A string or a dictionary, which the engine returns as a value.
        case feature
        /// The label with the highest score in the tensor.
        case classLabel(ClassLabelList)
    }
}

/// The processing of a prediction by one model.
package struct ModelPlan: Sendable {
    package let inputs: [InputPlan]
    package let outputs: [OutputPlan]
    /// Fixed shapes for inputs with dynamic axes in the file, by index of the input.
    package let inputShapes: [Int: Shape]
    /// The metadata in the model file; nil for formats without metadata.
    package var about: ModelAbout?
    /// Warnings about likely mistakes in the model file, which is served nonetheless.
    package var advice: [String] = []

    /// True if a tensor takes the size of its picture.
    package var hasOpenPictures: Bool { inputs.contains { $0.openPicture != nil } }

    /// True if an output is a picture of a size that each inference determines.
    package var drawsOpenPictures: Bool {
        outputs.contains {
            if case .image(_, let width, let height) = $0.kind {
                width == Shape.dynamic || height == Shape.dynamic
            } else {
                false
            }
        }
    }

    /// True if all inputs can be zeros: none is a string or has an open shape.
    package var hasZeros: Bool {
        inputs.allSatisfy { $0.description.shape.isStatic && $0.description.elementType != .string }
    }
}

extension ModelPlan {
    /// The plan with a number for each label as the only output.
    /// - Parameters:
    ///   - name: the name of the output.
    ///   - index: its index in the engine.
    package func classifying(by labels: [String], output name: String, index: Int) -> ModelPlan {
        let shape = Shape([1, labels.count])
        let description = FeatureDescription(
            name: name, elementType: .float32, shape: shape, fileShape: shape, kind: .array, isTransformed: false,
            image: nil, labels: labels)
        let output = OutputPlan(description: description, index: index, kind: .array, linear: nil, activation: nil)
        return ModelPlan(inputs: inputs, outputs: [output], inputShapes: inputShapes, about: about, advice: advice)
    }
}
