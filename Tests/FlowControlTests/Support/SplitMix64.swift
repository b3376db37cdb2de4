import Foundation

/// A small generator that gives the same sequence for the same seed, everywhere.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Whether an event of this probability happens.
    mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self) < percent
    }

    /// The seed of this run: `OCELLI_SEED`, or another one each time. Printed, so that a failure can be had again.
    static func seed(for test: String) -> UInt64 {
        let chosen = ProcessInfo.processInfo.environment["OCELLI_SEED"].flatMap { UInt64($0) }
        let seed = chosen ?? UInt64.random(in: 0...UInt64(UInt32.max))
        print("\(test): OCELLI_SEED=\(seed)")
        return seed
    }
}
