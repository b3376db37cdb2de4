package import CoreMLImport
package import EngineAPI

/// The contents of a Core ML file in addition to its tensors.
package struct CoreMLFacts: Sendable {
    package let description: InterfaceSpecification
    /// The transforms that are applied to pictures, by input.
    package var scalers: [String: ImageScaler] = [:]
    /// The classes, and the name of the output with their scores.
    package var classifier: (labels: ClassLabelList, output: String)?
    /// Sample values of inputs for which zeros are not valid, by name.
    package var samples: [String: FeatureData] = [:]
    /// The values of inputs that a prediction omits, if the file states them, by name.
    package var defaults: [String: Double] = [:]
    /// The names of inputs that accept missing numbers.
    package var missing: Set<String> = []
    /// A detector's outputs with the scores and the boxes, and the names of its classes, which may be empty.
    package var detections: (scores: String, boxes: String, classes: [String])?
    /// True if this process evaluates the outputs in double precision; they may include strings and dictionaries.
    package var isEvaluated = false

    package var about: ModelAbout {
        let metadata = description.metadata
        return ModelAbout(
            details: metadata.shortDescription, version: metadata.version, author: metadata.author,
            license: metadata.license, userDefined: metadata.userDefined)
    }
}

/// A model file that was created from a Core ML file.
package protocol CoreMLModelFile: ModelFile {
    var facts: CoreMLFacts { get }
}

extension ClassLabelList {
    var categories: [CoreMLImport.Category] {
        switch self {
        case .strings(let labels): labels.map(CoreMLImport.Category.string)
        case .integers(let labels): labels.map(CoreMLImport.Category.int64)
        }
    }

    init(_ labels: [CoreMLImport.Category]) {
        let integers = labels.compactMap { if case .int64(let number) = $0 { number } else { nil } }
        self = integers.count == labels.count ? .integers(integers) : .strings(labels.map(\.description))
    }
}
