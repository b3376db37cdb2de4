package import Observations
package import Teaching

/// The classes that make a model of embeddings a classifier.
package enum EmbeddingClassifier: Sendable {
    /// Vectors of the classes' texts, found by their cosine.
    case vectors(EmbeddingClasses)
    /// Classes that were learned from pictures.
    case taught(TaughtHead)

    /// Numbers of an embedding.
    package var dimension: Int {
        switch self {
        case .vectors(let classes): classes.dimension
        case .taught(let head): head.dimension
        }
    }

    /// The key of model.json that names its file.
    package var key: String {
        switch self {
        case .vectors: "classes"
        case .taught: "taught"
        }
    }
}
