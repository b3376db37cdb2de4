package import FlowControl

/// A reader as a model that is served under a name of its own.
extension Model {
    /// Creates a reader from its networks.
    convenience init(
        _ reader: Reader, bundle: ModelBundle, version: String?, configuration: ModelConfiguration,
        loadReport: LoadReport
    ) {
        let find = reader.find
        self.init(
            ModelDescription(
                bundle, bundle.manifest, version: version, backend: "reader",
                features: (find.description.inputs, find.description.outputs)),
            bundle: bundle, options: bundle.manifest?.options, resources: find.resources, observations: [],
            reader: reader, configuration: configuration, loadReport: loadReport)
    }

    /// The picture that a network of a reader gets, with a slot that the caller holds.
    /// - Parameter line: the number of a line in reading order, from 0; ignored for the detector.
    /// - Throws: `unsupported` if the model is no reader, `invalidInput` if there is no such line.
    package func explanation(
        of image: EncodedImage, part: ReaderPart, line: Int, request: ObservationRequest, options: PredictionOptions,
        slot: Slot
    ) async throws(InferenceError) -> PreprocessedImage {
        guard let reader else { throw .unsupported(model: description.name, reason: "is no reader") }
        return try await ReaderRequest(reader, request, options, slot).explanation(of: image, part, line: line)
    }
}
