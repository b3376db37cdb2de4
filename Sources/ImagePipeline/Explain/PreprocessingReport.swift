/// The preprocessing steps of a picture, in order, for comparison with a training pipeline.
public struct PreprocessingReport: Sendable, Hashable, Codable {
    /// The data of the picture's header.
    public let image: ImageInfo
    /// The steps, in the order in which they apply. (Some are done in one pass.)
    public let steps: [PreprocessingStep]
}

/// One transformation.
public struct PreprocessingStep: Sendable, Hashable, Codable {
    /// `decode`, `orient`, `composite`, `convert`, `crop`, `resize`, `cut`, `pad`, `normalize` or `tensor`.
    public let operation: String
    /// The numbers and names of the step.
    public let parameters: [String: PreprocessingValue]
}

/// A number, a word or a list of numbers; encoded as such, without a wrapper.
public enum PreprocessingValue: Sendable, Hashable, Codable {
    /// A number of pixels, or of the unit that the parameter's name states.
    case number(Double)
    /// A name.
    case text(String)
    /// One number for each channel or axis.
    case numbers([Double])

    /// Decodes a number, a string or an array of numbers.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else {
            self = .numbers(try container.decode([Double].self))
        }
    }

    /// Encodes only the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .numbers(let numbers): try container.encode(numbers)
        }
    }
}

extension PreprocessingValue: ExpressibleByStringLiteral {
    /// Creates a text.
    public init(stringLiteral value: String) { self = .text(value) }
}
