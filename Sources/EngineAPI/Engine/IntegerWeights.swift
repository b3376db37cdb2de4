/// The report of the rewrite by which a model's 8-bit convolutions are computed in integers.
public struct IntegerWeights: Sendable, Hashable, Codable {
    /// The number of convolutions, except depthwise ones, with unsigned 8-bit weights that have a zero point; and the
    /// number of those that are computed in integers.
    public let convolutions: Int, inIntegers: Int
    /// Both numbers for depthwise convolutions.
    public let depthwiseConvolutions: Int, depthwiseInIntegers: Int
    /// The number of duplicated channels.
    public let copiedChannels: Int
    /// The reason all of them are computed in floats; nil if they are not.
    public let reason: String?

    /// A report.
    package init(
        convolutions: Int, inIntegers: Int, depthwiseConvolutions: Int, depthwiseInIntegers: Int, copiedChannels: Int,
        reason: String?
    ) {
        self.convolutions = convolutions
        self.inIntegers = inIntegers
        self.depthwiseConvolutions = depthwiseConvolutions
        self.depthwiseInIntegers = depthwiseInIntegers
        self.copiedChannels = copiedChannels
        self.reason = reason
    }

    /// The report for the same weights if they are not rewritten.
    package func unused(because reason: String) -> IntegerWeights {
        IntegerWeights(
            convolutions: convolutions, inIntegers: 0, depthwiseConvolutions: depthwiseConvolutions,
            depthwiseInIntegers: 0,
            copiedChannels: 0, reason: reason)
    }
}
