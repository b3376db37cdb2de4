import CSystem
import JSON
import SystemSupport

/// Generates request identifiers, and validates those of clients.
package struct RequestIdentifier: Sendable {
    /// Random enough for unique identifiers, which need not be secret.
    private var random: SplitMix64

    /// A generator that starts at a random number.
    package init() {
        random = SplitMix64(seed: csys_random())
    }

    /// A generator that starts at `seed`, for tests.
    package init(seed: UInt64) {
        random = SplitMix64(seed: seed)
    }

    /// A new identifier of 15 characters (75 bits), the most that a Swift String holds without an allocation. 64 of the
    /// bits are a permutation of a counter, so one generator never repeats an identifier.
    package mutating func next() -> String {
        let (low, high) = (random.next(), random.next())
        let alphabet = Self.alphabet.utf8Start
        return String(unsafeUninitializedCapacity: 15) { characters in
            for index in 0..<12 { characters[index] = alphabet[Int(low &>> (5 &* UInt64(index)) & 31)] }
            for index in 12..<15 { characters[index] = alphabet[Int(high &>> (5 &* UInt64(index &- 12)) & 31)] }
            return 15
        }
    }

    /// Crockford's Base 32 in lower case, which avoids letters that look like others.
    private static let alphabet: StaticString = "0123456789abcdefghjkmnpqrstvwxyz"

    /// True if a client's identifier is used: 1 to 128 letters, digits and `-._~:/+=@`. These cover UUIDs, W3C trace
    /// contexts, Base64 and AWS' `Root=1-…`, and none of them needs escaping in a log line, in JSON or within a shell's
    /// double quotes.
    package static func isUsable(_ text: String) -> Bool {
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
