/// The kind of a layer in a bundle (`type` in model.json).
public enum FeatureKind: String, Sendable, CaseIterable {
    /// Numbers.
    case array
    /// A picture.
    case image
    /// Raw bytes of elements.
    case string
    /// One number.
    case scalar
    /// Strings of any length (Core ML and ONNX files).
    case text
    /// Numbers by key (Core ML files).
    case dictionary
}
