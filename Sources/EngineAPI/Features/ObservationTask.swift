/// A task that a model can perform on a picture. The raw values are the last segments of the routes.
package enum ObservationTask: String, Sendable, CaseIterable {
    case detect, segment, keypoints, embed, read

    /// The `type` in model.json of an output for this task.
    package var outputType: String {
        switch self {
        case .detect: "boxes"
        case .segment: "mask"
        case .keypoints: "keypoints"
        case .embed: "embedding"
        case .read: "text"
        }
    }

    /// The result of the task, in words.
    package var gives: String {
        switch self {
        case .detect: "boxes"
        case .segment: "a mask"
        case .keypoints: "keypoints"
        case .embed: "an embedding"
        case .read: "text"
        }
    }
}
