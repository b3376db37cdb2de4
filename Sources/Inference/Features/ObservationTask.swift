/// What a model can be asked to find in a picture. The raw values are the last parts of the routes.
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

    /// What a model that does this gives.
    package var gives: String {
        switch self {
        case .detect: "boxes"
        case .segment: "a mask"
        case .keypoints: "keypoints"
        case .embed: "an embedding"
        }
    }
}
