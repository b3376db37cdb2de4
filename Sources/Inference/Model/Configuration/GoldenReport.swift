/// The result of comparing a model with the goldens of its bundle: pictures with known answers.
public struct GoldenReport: Sendable, Hashable {
    /// The number of pictures, and the number of those that were answered as expected.
    public let compared: Int, agreed: Int
    /// The first few pictures that were answered differently, each with the difference.
    public let differences: [String]

    /// `3 of 20 goldens differ: cat.jpg: expected tabby 0.91, got goldfish 0.40`; nil if all agree.
    public var summary: String? {
        let differing = compared - agreed
        guard differing > 0 else { return nil }
        let words = compared == 1 ? "golden differs" : "goldens differ"
        return "\(differing) of \(compared) \(words): " + differences.joined(separator: "; ")
            + (differing > differences.count ? "; ..." : "")
    }
}
