/// A side of a model that embeds texts, named for its inputs.
package enum WordsPart: String, Sendable, CaseIterable {
    /// The network from a picture to a vector.
    case pictures
    /// The network from token ids to a vector.
    case texts
}

/// A network of a bundle that has several.
package enum BundlePart: Sendable, Hashable {
    case reader(ReaderPart)
    case words(WordsPart)
}
