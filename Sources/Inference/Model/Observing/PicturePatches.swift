package import Observations
package import Teaching

/// The vectors of a picture's patches, and the place of their grid.
package struct PicturePatches: Sendable {
    package let vectors: PatchVectors
    /// The part of the displayed picture that the grid covers, in pixels. With a letterbox it goes beyond the picture.
    package let area: PictureMap.Rectangle
}

extension ObservationPlan {
    /// The vectors of the patches in an embedding's output; nil if it has none.
    func patchVectors(of outputs: any EngineOutputs) throws(InferenceError) -> PatchVectors? {
        let found = try withEmbedding(of: outputs) { (decoder, tensor) throws(ObservationError) -> PatchVectors? in
            guard case .patches(let reader) = decoder.patches else { return nil }
            guard let vectors = PatchVectors(try reader.vectors(tensor), width: reader.width) else {
                throw .notNumbers(role: "output")
            }
            return vectors
        }
        return found ?? nil
    }
}
