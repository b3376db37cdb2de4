/// The decision whether a request is one of a candidate's share: the same for all requests of one sender, and of as
/// many as the share says.
///
/// A sender that is in a share is in every larger one of the same candidate; another candidate has other senders. The
/// choice is the same in every process, so that replicas and restarts agree.
package enum StickyShare {
    /// - Parameters:
    ///   - share: 0 to 1.
    ///   - sender: the token, the address or the value of the field that names the sender, as a number by
    ///     ``number(_:)``.
    ///   - candidate: the model and the version, as a number.
    package static func contains(_ sender: UInt64, share: Double, candidate: UInt64) -> Bool {
        guard share < 1 else { return true }
        // The first 53 bits are a number below 1, exactly.
        return Double(mixed(sender ^ mixed(candidate)) >> 11) / 9_007_199_254_740_992 < share
    }

    /// A number for some bytes: FNV-1a (Fowler, Noll, Vo), 64 bits.
    package static func number(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    /// Spreads a number over all bits: the last step of SplitMix64 (Steele, Lea, Flood 2014).
    private static func mixed(_ value: UInt64) -> UInt64 {
        var value = value &+ 0x9E37_79B9_7F4A_7C15
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
