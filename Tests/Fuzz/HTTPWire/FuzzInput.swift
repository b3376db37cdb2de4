import HTTPWire

/// A case read from a fuzzer's bytes: the first byte selects the replay and its limits, the second one seeds the cuts,
/// and the rest is the client's input.
struct FuzzInput {
    static let boundaries = ["x", "boundary", "------------------------d74496d66958873e", "a b'()+_,-./:=?z"]

    var isMultipart = false
    var boundary = 0
    var limits = 0
    var cutSeed: UInt8 = 0
    var bytes: [UInt8] = []

    init() {}

    init?(_ data: UnsafeRawBufferPointer) {
        guard data.count >= 2 else { return nil }
        isMultipart = data[0] & 1 != 0
        boundary = Int(data[0] >> 1 & 3)
        limits = Int(data[0] >> 3 & 3)
        cutSeed = data[1]
        bytes = Array(data[2...])
    }

    var encoded: [UInt8] {
        [UInt8(isMultipart ? 1 : 0) | UInt8(boundary) << 1 | UInt8(limits) << 3, cutSeed] + bytes
    }

    /// The defaults, and three sets of limits that a fuzzer's inputs reach.
    var wireLimits: WireLimits {
        var limits = WireLimits()
        guard self.limits > 0 else { return limits }
        limits.requestLineBytes = [0, 64, 24, 9][self.limits]
        limits.headerBytes = [0, 128, 40, 2][self.limits]
        limits.fieldCount = [0, 6, 2, 0][self.limits]
        limits.chunkExtensionBytes = [0, 32, 8, 0][self.limits]
        limits.trailerBytes = [0, 64, 16, 2][self.limits]
        limits.multipartParts = [0, 3, 2, 1][self.limits]
        limits.multipartHeaderBytes = [0, 128, 64, 2][self.limits]
        limits.multipartHeaderCount = [0, 4, 2, 1][self.limits]
        return limits
    }

    /// Two sets of cuts: a few anywhere, and one at every byte (of the last 200, so that a run stays quick).
    var cuts: [[Int]] {
        var state = UInt64(cutSeed) &+ UInt64(bytes.count) &* 256
        var few: Set<Int> = []
        for _ in 0...(Int(cutSeed) % 5) {
            // SplitMix64.
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            few.insert(Int((word ^ (word >> 31)) % UInt64(bytes.count + 1)))
        }
        return [few.sorted(), Array(max(0, bytes.count - 200)..<bytes.count)]
    }
}
