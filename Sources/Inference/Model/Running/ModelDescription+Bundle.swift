extension ModelDescription {
    /// Describes the model of a bundle; metadata that the manifest does not have comes from the model file.
    /// - Parameters:
    ///   - manifest: that of the bundle, or one that was derived from its model file.
    ///   - version: the version of the bundle's numbered folder; nil uses that of the manifest.
    ///   - file: the metadata of the model file; nil if it has none.
    init(
        _ bundle: ModelBundle, _ manifest: ModelManifest?, version: String?, file: ModelAbout? = nil, backend: String,
        features: (inputs: [FeatureDescription], outputs: [FeatureDescription])
    ) {
        func text(_ own: String?, _ other: String?) -> String {
            if let own, !own.isEmpty { own } else { other ?? "" }
        }
        self.init(
            name: manifest?.name ?? bundle.name, details: text(manifest?.details, file?.details),
            identifier: manifest?.identifier ?? bundle.name, version: version ?? manifest?.version ?? "1",
            author: text(manifest?.author, file?.author), license: text(manifest?.license, file?.license),
            backend: backend, inputs: features.inputs, outputs: features.outputs)
    }
}
