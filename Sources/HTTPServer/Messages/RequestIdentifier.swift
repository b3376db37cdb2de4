import CSystem
import JSON

/// Generates request identifiers, and validates those of clients.
package struct RequestIdentifier: Sendable {
    private var state: UInt64

    /// A generator with its own random start.
    package init() {
        state = csys_random()
    }

    /// A generator with a given start, for tests.
    package init(seed: UInt64) {
        state = seed
    }

    /// Fifteen characters, 75 bits: as much as Swift keeps in a String without allocating. 64 of the bits are a
    /// permutation of a counter, so that one generator never repeats itself.
    package mutating func next() -> String {
        let (low, high) = (mix(), mix())
        let alphabet = Self.alphabet.utf8Start
        return String(unsafeUninitializedCapacity: 15) { characters in
            for index in 0..<12 { characters[index] = alphabet[Int(low &>> (5 &* UInt64(index)) & 31)] }
            for index in 12..<15 { characters[index] = alphabet[Int(high &>> (5 &* UInt64(index &- 12)) & 31)] }
            return 15
        }
    }

    /// SplitMix64: good enough to be unique, and no secret hangs on it.
    private mutating func mix() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// Base 32 as Crockford has it, lower case: no letters that are read for another.
    private static let alphabet: StaticString = "0123456789abcdefghjkmnpqrstvwxyz"

    /// True if a client's identifier is taken over: 1 to 128 letters, digits and `-._~:/+=@`. That covers UUIDs, W3C
    /// trace contexts, Base64 and AWS' `Root=1-…`, and has nothing that would need escaping in a log line, in JSON or
    /// in a shell's double quotes.
    package static func isSane(_ text: String) -> Bool {
        guard (1...128).contains(text.utf8.count) else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case 48...58, 64...90, 97...122: true  // 0-9 and ':', '@' and A-Z, a-z
            case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
            case UInt8(ascii: "/"), UInt8(ascii: "+"), UInt8(ascii: "="): true
            default: false
            }
        }
    }
}
