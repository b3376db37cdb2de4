public import FoundationEssentials

// Variants of functions that take a file URL instead of a path.

extension Model {
    /// Loads the bundle or model file at a file URL: see ``load(contentsOf:configuration:version:)-(String,_,_)``.
    public static func load(
        contentsOf url: URL, configuration: ModelConfiguration = ModelConfiguration(), version: String? = nil
    ) async throws(InferenceError) -> Model {
        try await load(contentsOf: url.path, configuration: configuration, version: version)
    }
}

extension EncodedImage {
    /// Reads the picture in the file at a file URL. Blocks.
    /// - Parameter orientation: how it is stored; nil for the orientation of the prediction's options.
    public init(contentsOf url: URL, orientation: ImageOrientation? = nil) throws(InferenceError) {
        try self.init(contentsOf: url.path, orientation: orientation)
    }
}
