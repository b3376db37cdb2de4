/// A collection of named values: the input or output of a prediction (Core ML's `MLFeatureProvider`).
public protocol FeatureProvider: Sendable {
    /// The names of the values, in order.
    var featureNames: [String] { get }
    /// The value with this name; nil if it does not exist.
    func featureValue(for name: String) -> FeatureValue?
}

/// Values by name, in order (Core ML's `MLDictionaryFeatureProvider`).
public struct DictionaryFeatureProvider: FeatureProvider, ExpressibleByDictionaryLiteral {
    private var values: [(name: String, value: FeatureValue)]

    /// The values of the pairs, in order. If a name occurs several times, the first value is used.
    public init(_ pairs: [(name: String, value: FeatureValue)]) {
        values = pairs
    }

    /// Values written as a dictionary literal.
    public init(dictionaryLiteral elements: (String, FeatureValue)...) {
        values = elements.map { (name: $0.0, value: $0.1) }
    }

    /// The names of the values, in order.
    public var featureNames: [String] { values.map(\.name) }

    /// The value with this name; nil if it does not exist.
    public func featureValue(for name: String) -> FeatureValue? {
        values.first { $0.name == name }?.value
    }
}
