/// An input or output value of a model that Ocelli evaluates itself.
package enum FeatureData: Sendable, Hashable {
    case double(Double)
    case int64(Int64)
    case string(String)
    case array(NumberArray)
    case dictionary(CategoryNumbers)
    /// A picture of the caller, by a number that the caller chooses.
    case image(Int)

    /// The kind of value, for messages.
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
    /// The extents; their product equals the number of values.
    package var shape: [Int]
    package var values: [Double]

    /// - Parameter shape: its product must equal the number of values; nil makes a vector.
    package init(_ values: [Double], shape: [Int]? = nil) {
        self.values = values
        self.shape = shape ?? [values.count]
    }
}

/// The name of a class or a category. Within one model, all are strings or all are integers.
package enum Category: Sendable, Hashable, CustomStringConvertible {
    case string(String)
    case int64(Int64)

    /// The string itself, or the integer in decimal.
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

    /// Compares strings by their bytes, as Core ML does: Swift's `==` takes two encodings of a letter for equal.
    package static func == (a: Category, b: Category) -> Bool {
        switch (a, b) {
        case (.int64(let a), .int64(let b)): a == b
        case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .int64(let number): hasher.combine(number)
        case .string(var text): text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }
}

/// Numbers by category, in the order of the model or of the request.
package struct CategoryNumbers: Sendable, Hashable {
    package var keys: [Category]
    /// One value for each key.
    package var values: [Double]

    package init(keys: [Category], values: [Double]) {
        self.keys = keys
        self.values = values
    }
}

/// A feature with a value that cannot be used, and the reason. If the feature is an input, the client made the mistake.
package struct EvaluationError: Error, Sendable, Hashable, CustomStringConvertible {
    package var feature: String
    package var reason: String

    package init(_ reason: String, feature: String) {
        self.feature = feature
        self.reason = reason
    }

    package var description: String { "\"\(feature)\": \(reason)" }
}
