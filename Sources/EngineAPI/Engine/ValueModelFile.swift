/// A model file with inputs that may be strings, and outputs that may be strings, dictionaries from labels to numbers,
/// or sequences.
package protocol ValueModelFile: ModelFile {
    /// The form of each output, in the order of the outputs.
    var forms: [OutputForm] { get }
}

/// The form in which an engine returns an output.
package enum OutputForm: Sendable {
    /// Numbers, in memory.
    case tensor
    /// Numbers in memory, a row of them for each item, with one for each of these labels.
    case labelled(ClassLabelList)
    /// Strings, a dictionary or a sequence: a ``FeatureValue``.
    case values
}
