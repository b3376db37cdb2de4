/// A value that goes into or comes out of a model that is evaluated here, not by the engine.
package enum FeatureData: Sendable, Hashable {
    case double(Double)
    case int64(Int64)
    case string(String)
    case array(NumberArray)
    case dictionary(CategoryNumbers)
    /// A picture that the caller holds: its number is the caller's.
    case image(Int)

    /// The name of the kind of value, for messages.
    package var kind: String {
        switch self {
        case .double: "a number"
        case .int64: "an integer"
        case .string: "a string"
        case .array(let array): "an array of \(array.values.count) numbers"
        case .dictionary: "a dictionary"
        case .image: "a picture"
        }
    }
}

/// The values of features by name.
package typealias FeatureTable = [String: FeatureData]

/// Numbers with the extents of their axes, in row-major order.
package struct NumberArray: Sendable, Hashable {
    /// The extents; their product is the number of values.
    package var shape: [Int]
    package var values: [Double]

    /// - Parameter shape: its product must be the number of values; nil for a vector.
    package init(_ values: [Double], shape: [Int]? = nil) {
        self.values = values
        self.shape = shape ?? [values.count]
    }
}

/// The name of a class or a category: in every model all of them are strings, or all are integers.
package enum Category: Sendable, Hashable, CustomStringConvertible {
    case string(String)
    case int64(Int64)

    /// As text: a string itself, an integer in decimal.
    package var description: String {
        switch self {
        case .string(let text): text
        case .int64(let number): String(number)
        }
    }

    package var data: FeatureData {
        switch self {
        case .string(let text): .string(text)
        case .int64(let number): .int64(number)
        }
    }
}

/// Numbers by category, in the order in which a model or a client lists them.
package struct CategoryNumbers: Sendable, Hashable {
    package var keys: [Category]
    /// As many as there are keys.
    package var values: [Double]

    package init(keys: [Category], values: [Double]) {
        self.keys = keys
        self.values = values
    }
}

/// The reason why values cannot be computed: the feature, and what is wrong with it. The client's mistake, where the
/// feature is an input.
package struct EvaluationError: Error, Sendable, Hashable, CustomStringConvertible {
    package var feature: String
    package var reason: String

    package init(_ reason: String, feature: String) {
        self.feature = feature
        self.reason = reason
    }

    package var description: String { "\"\(feature)\": \(reason)" }
}
