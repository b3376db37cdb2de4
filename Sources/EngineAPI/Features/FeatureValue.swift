/// One input or output value of a model, with Core ML's names.
public enum FeatureValue: Sendable {
    /// A picture, as encoded file bytes.
    case image(EncodedImage)
    /// A tensor.
    case multiArray(MultiArray)
    /// A tensor with bytes that belong to another owner.
    case borrowedArray(BorrowedArray)
    /// One integer.
    case int64(Int64)
    /// One number.
    case double(Double)
    /// One string.
    case string(String)
    /// A tensor of strings.
    case strings(StringArray)
    /// Several values: a dictionary for each row, or a tensor for each target.
    case sequence([FeatureValue])
    /// Numbers by label, in the order of the model's labels: the value of a labelled output.
    case dictionary([LabeledValue])
    /// A depth for each pixel of the picture.
    case depth(DepthMap)

    /// A description of the kind of value, for error messages.
    public var kind: String {
        switch self {
        case .image: "an image"
        case .multiArray(let array): "an array of shape \(array.shape) of \(array.elementType.rawValue)"
        case .borrowedArray(let array): "an array of shape \(array.shape) of \(array.elementType.rawValue)"
        case .int64: "an integer"
        case .double: "a number"
        case .string: "a string"
        case .strings(let array): "strings of shape \(array.shape)"
        case .sequence: "a sequence"
        case .dictionary: "a dictionary"
        case .depth: "a depth map"
        }
    }
}

/// A number with its label.
public struct LabeledValue: Sendable, Hashable {
    /// The label.
    public let label: String
    /// The number.
    public let value: Double

    /// A number with its label.
    public init(label: String, value: Double) {
        self.label = label
        self.value = value
    }
}
