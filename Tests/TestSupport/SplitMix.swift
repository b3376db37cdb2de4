import Foundation

/// A small generator with a reproducible sequence for each seed: SplitMix64.
public struct SplitMix: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// The sequence of this seed.
    public init(seed: UInt64) { state = seed }

    /// The next number.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// True with this probability in percent.
    public mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self) < percent
    }

    /// The seed of this run: `OCELLI_SEED`, or a random one. It is printed, so that a failure can be reproduced.
    public static func seed(for test: String) -> UInt64 {
        let chosen = ProcessInfo.processInfo.environment["OCELLI_SEED"].flatMap { UInt64($0) }
        let seed = chosen ?? UInt64.random(in: 0...UInt64(UInt32.max))
        print("\(test): OCELLI_SEED=\(seed)")
        return seed
    }
}
