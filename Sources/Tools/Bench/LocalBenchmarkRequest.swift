internal import FoundationEssentials
internal import Inference

/// The request of `ocelli bench`.
package struct LocalBenchmarkRequest: Sendable {
    /// A bundle's folder, a model file, or a name in the models folders; nil for the first image classifier there.
    package var model: String?
    /// Picture files; if empty, a drawn digit is sent.
    package var pictures: [String] = []
    /// The time in seconds for each of the four sides, all rounds together.
    package var seconds = 8.0
    /// The number of concurrent requests in process, and of connections through the socket.
    package var concurrency = 8
    package var isJSON = false

    package init() {}

    package static let secondsBounds = 0.2...3600.0
    package static let concurrencyBounds = 1...256

    /// True if a path is a model, not a picture: a folder, or a file of one of the engine's formats. Reads the disk.
    package static func isModel(_ path: String) -> Bool {
        var isFolder = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return false }
        return isFolder || ModelBundle.isModelFile(path)
    }
}
