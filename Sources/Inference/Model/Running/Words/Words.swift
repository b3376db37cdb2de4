package import Observations

/// The text side of a model that embeds texts, and its classification by labels. Loaded and released with the model;
/// the network of the model itself, if it takes pictures, is the picture side.
package final class Words: Sendable {
    package let description: WordsDescription
    let side: TextSide
    /// The length of the vectors.
    package let dimension: Int
    /// From similarities to confidences; nil if the model takes no pictures, or if its files do not state the scale.
    package let scoring: SimilarityScoring?

    init(_ description: WordsDescription, side: TextSide, dimension: Int, scoring: SimilarityScoring?) {
        self.description = description
        self.side = side
        self.dimension = dimension
        self.scoring = scoring
    }

    /// The text side as a model, for reports.
    package var textModel: Model { side.model }

    /// The maximum number of ids of a text.
    package var longestText: Int { side.longest }
}
