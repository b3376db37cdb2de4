package import Observations
package import Teaching

/// The classes that turn an embedding model into a classifier.
package enum EmbeddingClassifier: Sendable {
    /// Embeddings of the classes' texts, compared by cosine similarity.
    case vectors(EmbeddingClasses)
    /// Classes that were taught with pictures.
    case taught(TaughtClassifier)

    /// The dimension of the embeddings.
    package var dimension: Int {
        switch self {
        case .vectors(let classes): classes.dimension
        case .taught(let head): head.dimension
        }
    }

    /// The key of model.json that names the file of the classes.
    package var key: String {
        switch self {
        case .vectors: "classes"
        case .taught: "taught"
        }
    }
}
