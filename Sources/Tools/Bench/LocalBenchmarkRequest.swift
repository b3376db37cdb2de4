internal import FoundationEssentials
internal import Inference
internal import InferenceService

/// The request of `ocelli bench`.
package struct LocalBenchmarkRequest: Sendable {
    /// A bundle's folder, a model file, or a name in the models folders; nil: the first image classifier there.
    package var model: String?
    /// Files; without any, a drawn digit is sent.
    package var pictures: [String] = []
    /// Seconds for each of the four sides, all rounds together.
    package var seconds = 8.0
    /// Requests at once, in process, and connections, through the socket.
    package var concurrency = 8
    package var isJSON = false

    package init() {}

    package static let secondsBounds = 0.2...3600.0
    package static let concurrencyBounds = 1...256

    /// True if a path is a model's and no picture's: that of a folder, or of a file of the engine's formats. Looks at
    /// the disk.
    package static func isModel(_ path: String) -> Bool {
        var isFolder = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return false }
        return isFolder || ModelBundle.isModelFile(path)
    }
}
