/// A model of a reader of text, named for its stage. The raw values are the keys of `reader` in model.json, and the
/// values of `stage` in queries.
package enum ReaderPart: String, Sendable, CaseIterable {
    /// The detector, which finds regions of text in a picture.
    case find
    /// The classifier of direction, which tells upright lines from those that stand on their heads.
    case turn
    /// The recognizer, which reads a line.
    case read
}
