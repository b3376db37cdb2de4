/// SipHash-2-4 with a result of 128 bits (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012, and the
/// variant of their reference code): without the key it is infeasible to find two inputs with the same result.
package struct SipHash: Sendable {
    /// 128 bits, as two little-endian words.
    package struct Key: Hashable, Sendable {
        package let low: UInt64
        package let high: UInt64

        package init(low: UInt64, high: UInt64) {
            self.low = low
            self.high = high
        }

        /// Half of the bits are enough for a hash table, because clients cannot choose results that collide.
        package func hash(into hasher: inout Hasher) { hasher.combine(low) }

        /// A random key.
        package static func random() -> Key {
            var source = SystemRandomNumberGenerator()
            return Key(low: source.next(), high: source.next())
        }
    }

    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64
    /// The bytes that do not fill a word yet, in the lowest bytes.
    private var rest: UInt64 = 0
    private var count: UInt64 = 0

    package init(key: Key) {
        v0 = 0x736f_6d65_7073_6575 ^ key.low
        v1 = 0x646f_7261_6e64_6f6d ^ key.high ^ 0xee
        v2 = 0x6c79_6765_6e65_7261 ^ key.low
        v3 = 0x7465_6462_7974_6573 ^ key.high
    }

    /// Adds bytes. Adding them in pieces gives the same result.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var next = min(Int((8 &- (count & 7)) & 7), bytes.count)
        if next > 0 { add(Self.word(bytes, 0, next), size: next) }
        while bytes.count &- next >= 8 {
            absorb(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: next, as: UInt64.self)))
            next &+= 8
            count &+= 8
        }
        if next < bytes.count { add(Self.word(bytes, next, bytes.count), size: bytes.count &- next) }
    }

    /// Adds a text, preceded by its length and padded to whole words, so that different sequences of texts never add
    /// the same bytes.
    package mutating func update(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            update(UInt64(bytes.count))
            update(UnsafeRawBufferPointer(bytes))
            let missing = Int((8 &- (UInt64(bytes.count) & 7)) & 7)
            if missing > 0 { add(0, size: missing) }
        }
    }

    /// Adds a number, as eight bytes.
    package mutating func update(_ number: UInt64) { add(number, size: 8) }

    /// The hash of everything added so far.
    package func finish() -> Key {
        var end = self
        end.absorb(end.rest | (end.count << 56))
        end.v2 ^= 0xee
        for _ in 0..<4 { end.round() }
        let low = end.v0 ^ end.v1 ^ end.v2 ^ end.v3
        end.v1 ^= 0xdd
        for _ in 0..<4 { end.round() }
        return Key(low: low, high: end.v0 ^ end.v1 ^ end.v2 ^ end.v3)
    }

    /// Up to seven bytes, as the lowest bytes of a word.
    private static func word(_ bytes: UnsafeRawBufferPointer, _ from: Int, _ end: Int) -> UInt64 {
        var word: UInt64 = 0
        var next = end
        while next > from {
            next &-= 1
            word = (word &<< 8) | UInt64(bytes[next])
        }
        return word
    }

    /// Adds the lowest bytes of a word; its other bytes are 0.
    /// - Parameter size: the number of bytes, 1 to 8.
    private mutating func add(_ word: UInt64, size: Int) {
        let held = count & 7, size = UInt64(truncatingIfNeeded: size)
        count &+= size
        rest |= word &<< (held &* 8)
        guard held &+ size >= 8 else { return }
        let full = rest
        rest = held == 0 ? 0 : word &>> ((8 &- held) &* 8)
        absorb(full)
    }

    @inline(__always)
    private mutating func absorb(_ word: UInt64) {
        v3 ^= word
        round()
        round()
        v0 ^= word
    }

    @inline(__always)
    private mutating func round() {
        v0 &+= v1
        v1 = Self.turned(v1, 13) ^ v0
        v0 = Self.turned(v0, 32)
        v2 &+= v3
        v3 = Self.turned(v3, 16) ^ v2
        v0 &+= v3
        v3 = Self.turned(v3, 21) ^ v0
        v2 &+= v1
        v1 = Self.turned(v1, 17) ^ v2
        v2 = Self.turned(v2, 32)
    }

    @inline(__always)
    private static func turned(_ word: UInt64, _ bits: UInt64) -> UInt64 {
        (word << bits) | (word >> (64 &- bits))
    }
}
