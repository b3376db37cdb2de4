/// A task that a model can do on a picture. The raw values are the last parts of the routes.
package enum ObservationTask: String, Sendable, CaseIterable {
    case detect, segment, keypoints, embed

    /// The `type` in model.json of an output that this reads.
    package var outputType: String {
        switch self {
        case .detect: "boxes"
        case .segment: "mask"
        case .keypoints: "keypoints"
        case .embed: "embedding"
        }
    }

    /// The result of a model that does this, in words.
    package var gives: String {
        switch self {
        case .detect: "boxes"
        case .segment: "a mask"
        case .keypoints: "keypoints"
        case .embed: "an embedding"
        }
    }
}
