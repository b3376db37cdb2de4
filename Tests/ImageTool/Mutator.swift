/// Damages files reproducibly for a seed.
struct Mutator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ limit: Int) -> Int { limit > 0 ? Int(next() % UInt64(limit)) : 0 }

    /// Applies one to four changes: bits, bytes, special numbers, parts that are removed, doubled or filled, a
    /// truncated end.
    mutating func mutate(_ original: [UInt8]) -> [UInt8] {
        var bytes = original
        for _ in 0...below(4) {
            guard !bytes.isEmpty else { break }
            // Half of the changes hit the headers.
            let place = below(2) == 0 ? below(min(bytes.count, 200)) : below(bytes.count)
            let length = min(bytes.count - place, 1 + below(32))
            switch below(9) {
            case 0: bytes[place] ^= 1 << UInt8(below(8))
            case 1: bytes[place] = UInt8(truncatingIfNeeded: next())
            case 2: bytes[place] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF][below(6)]
            case 3: bytes.removeSubrange(place..<place + length)
            case 4: bytes.insert(contentsOf: bytes[place..<place + length], at: place)
            case 5: for index in place..<place + length { bytes[index] = UInt8(truncatingIfNeeded: next()) }
            case 6: bytes.removeSubrange(max(1, place)...)
            case 7: for index in place..<min(place + 4, bytes.count) { bytes[index] = 0xFF }
            default: for index in place..<min(place + 2, bytes.count) { bytes[index] = 0 }
            }
        }
        return bytes
    }

    /// Corrects the checksums of a PNG's chunks, so that damage is not found by them.
    static func repairChecksums(_ bytes: inout [UInt8]) {
        guard bytes.count > 20, bytes[0] == 0x89 else { return }
        var offset = 8
        while offset + 12 <= bytes.count {
            let length = bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
            guard length <= bytes.count - offset - 12 else { return }
            let end = offset + 8 + length
            var sum = UInt32.max
            for byte in bytes[offset + 4..<end] {
                sum ^= UInt32(byte)
                for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
            }
            for index in 0..<4 { bytes[end + index] = UInt8(truncatingIfNeeded: ~sum >> UInt32(24 - index * 8)) }
            offset = end + 4
        }
    }
}
