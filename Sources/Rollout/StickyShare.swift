internal import SystemSupport

/// Decides whether a request belongs to a candidate's share. All requests of one sender get the same decision, and on
/// average the share of senders is met.
///
/// A sender in a share is also in every larger share of the same candidate; another candidate selects other senders.
/// The decision is equal in all processes, so replicas and restarts agree.
package enum StickyShare {
    /// - Parameters:
    ///   - share: from 0 to 1.
    ///   - sender: the token, the address or the value of the field that identifies the sender, as a number from
    ///     ``number(_:)``.
    ///   - candidate: the model and the version, as a number.
    package static func contains(_ sender: UInt64, share: Double, candidate: UInt64) -> Bool {
        guard share < 1 else { return true }
        // The first 53 bits as a fraction below 1, which is exact.
        return Double(SplitMix64.mixed(sender ^ SplitMix64.mixed(candidate)) >> 11) / 9_007_199_254_740_992 < share
    }

    /// The hash of bytes: FNV-1a (Fowler, Noll, Vo), 64 bits.
    package static func number(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
