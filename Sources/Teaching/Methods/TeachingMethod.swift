/// A way from examples to a classifier.
package enum TeachingMethod: String, Sendable, CaseIterable {
    /// The class whose mean direction is nearest.
    case nearestMean = "nearest_mean"
    /// Multinomial logistic regression.
    case logistic
    /// The vote of the nearest examples.
    case nearestNeighbors = "nearest_neighbors"
}

/// The method that somebody asked for: one of them, or the one that leave-one-out prefers.
package enum MethodChoice: Sendable, Equatable {
    case auto
    case fixed(TeachingMethod)

    /// `auto` or the name of a method; nil for other words.
    package init?(_ name: String) {
        if name == "auto" {
            self = .auto
        } else if let method = TeachingMethod(rawValue: name) {
            self = .fixed(method)
        } else {
            return nil
        }
    }

    /// As requests and answers write it.
    package var name: String {
        switch self {
        case .auto: "auto"
        case .fixed(let method): method.rawValue
        }
    }

    /// The names that there are, for messages.
    package static let names = ["auto"] + TeachingMethod.allCases.map(\.rawValue)

    /// The method that serves before anything was evaluated.
    package var first: TeachingMethod {
        switch self {
        case .auto: .nearestMean
        case .fixed(let method): method
        }
    }
}
