internal import EngineAPI
internal import Observations

/// The picture side of a model that embeds texts, too.
extension FactPlanner {
    /// Plans the conversion of a picture, and the output with its vector; each reason for a failure is added to the
    /// problems.
    package func plan(pictureSideOf words: WordsDescription, problems: ProblemList) -> Result {
        var result = plan()
        guard var manifest = result.manifest else {
            problems.add(
                file,
                result.provenance.explanation.map { "cannot embed pictures: \($0)" }
                    ?? "cannot embed pictures: \(reasonWithoutPicture())")
            return result
        }
        guard let index = words.pictureOutput(outputs) else {
            problems.add(
                file,
                "has no output with the vector of a picture: expected image_embeds"
                    + (words.texts.usesPooler ? " or pooler_output" : "") + ", found \(outputs.map(\.name).listed)")
            return result
        }
        let output = ObservationOutput(
            path: "outputs[0]", name: outputs[index].name,
            tensors: ["output": [.init(path: "outputs[0]", name: outputs[index].name)]],
            kind: .embedding(EmbeddingDecoding(.l2, pooling: EmbeddingPooling.none), classes: nil))
        manifest.observations = [output]
        manifest.outputs = output.layers
        result.manifest = manifest
        // The purpose of the outputs is known.
        result.provenance.decide("outputs")
        return result
    }
}
