internal import CoreMLImport
package import EngineAPI
internal import EngineImporters
internal import Engines

/// The inputs and outputs of a Core ML file as it is served, with the properties that a model.json next to it may
/// change.
package struct CoreMLOutline: Sendable {
    package let inputs: [Input], outputs: [Output]

    /// An input; with its scale and bias if it is a picture, one bias for each channel: gray, or red, green and blue.
    package struct Input: Sendable {
        package let name: String
        package let normalization: (scale: Float, bias: [Float])?
    }

    /// An output, and the number of its labels, if it has any.
    package struct Output: Sendable {
        package let name: String
        package let labels: Int?
    }

    /// True if a path has the name of a Core ML file.
    package static func reads(_ path: String) -> Bool { CoreMLFile.isCoreML(path) }

    /// Reads the file with the default engine. Blocks.
    /// - Throws: the reason it cannot be served.
    package init(path: String) throws(InferenceError) {
        let file: any ModelFile
        do throws(EngineError) {
            file = try DefaultEngine.shared().read(ModelSource(path: path))
        } catch {
            let problems = error.problems.isEmpty ? [BundleProblem(path: "", reason: error.message)] : error.problems
            throw .invalidBundle(name: ModelBundle.servedName(of: path), problems: problems)
        }
        guard let facts = (file as? any CoreMLModelFile)?.facts else {
            throw .invalidBundle(
                name: ModelBundle.servedName(of: path),
                problems: [BundleProblem(path: "", reason: "is not a Core ML file")])
        }
        let description = facts.description
        inputs = description.inputs.map { feature in
            guard case .image(let image) = feature.type else { return Input(name: feature.name, normalization: nil) }
            let isGray = image.colorSpace.channels == 1
            let scaler = facts.scalers[feature.name]
            return Input(
                name: feature.name,
                normalization: (
                    scaler?.channelScale ?? 1,
                    scaler?.biases(isGray ? .grayscale : .rgb) ?? [Float](repeating: 0, count: isGray ? 1 : 3)
                ))
        }
        outputs = description.outputs.map { feature in
            let isOfClasses =
                feature.name == description.predictedProbabilitiesName
                || feature.name == description.predictedFeatureName
            return Output(name: feature.name, labels: isOfClasses ? facts.classifier?.labels.texts.count : nil)
        }
    }
}
