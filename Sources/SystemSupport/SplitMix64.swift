/// Pseudo-random numbers, the same for each seed: SplitMix64 (Steele, Lea, Flood 2014).
package struct SplitMix64: Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// The next number. One generator returns each number once before it repeats.
    package mutating func next() -> UInt64 {
        defer { state &+= Self.step }
        return Self.mixed(state)
    }

    /// The number that a generator of this state returns: a permutation that mixes all bits.
    package static func mixed(_ state: UInt64) -> UInt64 {
        var value = state &+ step
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    /// 2 to the power of 64, divided by the golden ratio.
    private static let step: UInt64 = 0x9E37_79B9_7F4A_7C15
}
