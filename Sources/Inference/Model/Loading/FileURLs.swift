public import FoundationEssentials

// Files as URLs, where a program has them so.

extension Model {
    /// Loads the bundle or model file at a file URL: see ``load(contentsOf:configuration:version:)-(String,_,_)``.
    public static func load(
        contentsOf url: URL, configuration: ModelConfiguration = ModelConfiguration(), version: String? = nil
    ) async throws(InferenceError) -> Model {
        try await load(contentsOf: url.path, configuration: configuration, version: version)
    }
}

extension EncodedImage {
    /// The picture in the file at a file URL; reads it. Blocks.
    public init(contentsOf url: URL) throws(InferenceError) { try self.init(contentsOf: url.path) }
}
