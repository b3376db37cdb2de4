import ImagePipeline
import Inference

/// Labels of a picture, by a model that has labels.
func classify(_ picture: String, with path: String) async throws -> String {
    let model = try await Model.load(contentsOf: path)
    let result = try await model.classification(of: EncodedImage(contentsOf: picture), top: 3)
    for entry in result.classifications {
        print("\(entry.label): \(entry.confidence)")
    }
    return result.classifications.first?.label ?? ""
}

/// The label of a camera's frame, which stands on its side.
func label(
    ofFrame memory: UnsafeRawBufferPointer, width: Int, height: Int, bytesPerRow: Int, by model: Model,
    release: @escaping @Sendable () -> Void
) async throws -> String? {
    let frame = try RawFrame(.bgra, width: width, height: height, stride: bytesPerRow)
    let image = EncodedImage(frame: frame, in: memory, orientation: .right, release: release)
    return try await model.classification(of: image, top: 1).classifications.first?.label
}

/// The outputs of any model, by name.
func predict(_ picture: String, with path: String) async throws -> [String] {
    let model = try await Model.load(contentsOf: path)
    guard let input = model.description.inputs.first?.name else { return [] }
    let features: DictionaryFeatureProvider = [input: .image(try EncodedImage(contentsOf: picture))]
    let prediction = try await model.prediction(from: features)
    return prediction.featureNames.sorted()
}

/// Many pictures at once: as many run as the model has slots, and results come in order.
func classifyAll(_ pictures: [String], with path: String) async throws -> [String] {
    let model = try await Model.load(contentsOf: path)
    return try await withThrowingTaskGroup(of: (Int, String).self) { group in
        for (index, picture) in pictures.enumerated() {
            group.addTask {
                let result = try await model.classification(of: EncodedImage(contentsOf: picture), top: 1)
                return (index, result.classifications.first?.label ?? "")
            }
        }
        var labels = [String](repeating: "", count: pictures.count)
        for try await (index, label) in group { labels[index] = label }
        return labels
    }
}
