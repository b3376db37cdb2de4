/// An algorithm that learns from examples.
package enum TeachingMethod: String, Sendable {
    /// The class with the nearest mean direction.
    case nearestMean = "nearest_mean"
    /// Multinomial logistic regression.
    case logistic
    /// The vote of the nearest examples.
    case nearestNeighbors = "nearest_neighbors"
    /// One class: the distance to its nearest example tells how unusual a picture is.
    case normal

    /// The methods that tell classes apart.
    package static let classifiers: [TeachingMethod] = [.nearestMean, .logistic, .nearestNeighbors]
}

/// The requested method: a fixed one, or the one that the evaluation prefers.
package enum MethodChoice: Sendable, Equatable {
    case auto
    /// One of ``TeachingMethod/classifiers``.
    case fixed(TeachingMethod)
    /// Learns one class.
    /// - Parameter falseAlarms: the share of normal pictures that may be called anomalies.
    case normal(falseAlarms: Double)

    /// Parses `auto` or the name of a method; fails for other text.
    /// - Parameter falseAlarms: for `normal`.
    package init?(_ name: String, falseAlarms: Double = MethodChoice.usualFalseAlarms) {
        switch (name, TeachingMethod(rawValue: name)) {
        case ("auto", _): self = .auto
        case (_, .normal): self = .normal(falseAlarms: falseAlarms)
        case (_, let method?): self = .fixed(method)
        case (_, nil): return nil
        }
    }

    /// The name in requests and answers.
    package var name: String { self == .auto ? "auto" : first.rawValue }

    /// The names of the methods that tell classes apart, for messages.
    package static let classifierNames = ["auto"] + TeachingMethod.classifiers.map(\.rawValue)
    /// All names, for messages.
    package static let names = classifierNames + [TeachingMethod.normal.rawValue]

    /// The share of false alarms that a request without one gets.
    package static let usualFalseAlarms = 0.01
    /// The allowed shares of false alarms.
    package static let allowedFalseAlarms = 0.0001...0.5

    /// The share of false alarms; nil for methods that tell classes apart.
    package var falseAlarms: Double? {
        guard case .normal(let share) = self else { return nil }
        return share
    }

    /// The method used before an evaluation.
    package var first: TeachingMethod {
        switch self {
        case .auto: .nearestMean
        case .fixed(let method): method
        case .normal: .normal
        }
    }
}
