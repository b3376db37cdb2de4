/// An algorithm that makes a classifier from examples.
package enum TeachingMethod: String, Sendable, CaseIterable {
    /// The class whose mean direction is nearest.
    case nearestMean = "nearest_mean"
    /// Multinomial logistic regression.
    case logistic
    /// The vote of the nearest examples.
    case nearestNeighbors = "nearest_neighbors"
}

/// The requested method: a fixed one, or the one that the evaluation prefers.
package enum MethodChoice: Sendable, Equatable {
    case auto
    case fixed(TeachingMethod)

    /// Parses `auto` or the name of a method; fails for other text.
    package init?(_ name: String) {
        if name == "auto" {
            self = .auto
        } else if let method = TeachingMethod(rawValue: name) {
            self = .fixed(method)
        } else {
            return nil
        }
    }

    /// The name in requests and answers.
    package var name: String {
        switch self {
        case .auto: "auto"
        case .fixed(let method): method.rawValue
        }
    }

    /// All names, for messages.
    package static let names = ["auto"] + TeachingMethod.allCases.map(\.rawValue)

    /// The method used before an evaluation.
    package var first: TeachingMethod {
        switch self {
        case .auto: .nearestMean
        case .fixed(let method): method
        }
    }
}
