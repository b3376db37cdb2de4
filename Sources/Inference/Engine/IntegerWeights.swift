/// The report of the rewrite that lets a model's 8-bit convolutions be computed in integers.
public struct IntegerWeights: Sendable, Hashable, Codable {
    /// Convolutions with unsigned 8-bit weights that have a zero point, without depthwise ones; and those of them that
    /// are computed in integers.
    public let convolutions: Int, inIntegers: Int
    /// The same of depthwise convolutions.
    public let depthwiseConvolutions: Int, depthwiseInIntegers: Int
    /// The number of duplicated channels.
    public let copiedChannels: Int
    /// The reason why all of them are computed in floats; nil if they are not.
    public let reason: String?

    /// The same weights where they stay as they are.
    func unused(because reason: String) -> IntegerWeights {
        IntegerWeights(
            convolutions: convolutions, inIntegers: 0, depthwiseConvolutions: depthwiseConvolutions,
            depthwiseInIntegers: 0,
            copiedChannels: 0, reason: reason)
    }
}
