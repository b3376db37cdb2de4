internal import Glibc

/// The confirmation of a model's answers by a second computation, or the reason they are not confirmed.
public struct Confirmation: Sendable, Hashable, Codable {
    /// The name and version of the engine, or of the evaluation, that computed the same answers; nil if the answers are
    /// not confirmed. The runtime of the file's own format confirms the answers that it computes itself.
    public let by: String?
    /// The shapes of the inputs at which both computed; empty if only one did.
    public let shapes: [String]
    /// The largest difference, as a fraction of the output's range (0 is equality); nil if only one computed.
    public let largestDifference: Double?
    /// True if the engine returns numbers where the other one returns NaN or infinities for a picture with some: the
    /// format's own runtime answers such tensors.
    public let losesNonFinite: Bool
    /// The reason the answers are not confirmed; nil if they are.
    public let reason: String?

    /// Answers that a second computation agrees with.
    package init(
        by: String, at shapes: [String] = [], largestDifference: Double? = nil, losesNonFinite: Bool = false
    ) {
        self.by = by
        self.shapes = shapes
        self.largestDifference = largestDifference
        self.losesNonFinite = losesNonFinite
        reason = nil
    }

    /// Answers that are not confirmed.
    package init(unconfirmed reason: String) {
        by = nil
        shapes = []
        largestDifference = nil
        losesNonFinite = false
        self.reason = reason
    }

    /// Answers that the configuration says not to compare, such as those of the model that comes with Ocelli.
    package static let trusted = Confirmation(unconfirmed: "the model is trusted")

    /// Answers of the runtime of the file's own format.
    package static func ownRuntime(_ version: String) -> Confirmation {
        Confirmation(by: "\(version), the format's own runtime")
    }

    /// The state in words: `confirmed by LiteRT 2.3.0 with inputs of [1,224,224,3] (largest difference 2e-06 of the
    /// range)`, `not confirmed: no other engine reads Paddle's files`.
    package var text: String {
        guard let by else { return "not confirmed: \(reason ?? "nothing has computed them twice")" }
        var text = "confirmed by \(by)"
        if !shapes.isEmpty { text += " with inputs of \(shapes.joined(separator: "; "))" }
        if let largestDifference {
            text +=
                largestDifference == 0
                ? " (equal)" : " (largest difference \(Self.rounded(largestDifference)) of the range)"
        }
        return text
    }

    /// Two significant digits.
    private static func rounded(_ value: Double) -> Double {
        guard value.isFinite, value > 0 else { return value }
        let scale = pow(10, 1 - log10(value).rounded(.down))
        return (value * scale).rounded() / scale
    }
}
