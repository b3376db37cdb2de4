internal import CSHA256

/// SHA-256 (FIPS 180-4), computed incrementally by libcrypto, with the processor's instructions for it.
package struct SHA256: Sendable {
    private var state = csha256_begin()

    package init() {}

    /// The digest of bytes, 32 bytes long.
    package static func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finish()
    }

    /// The digest of an array, 32 bytes long.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] { bytes.withUnsafeBytes { digest($0) } }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        csha256_update(&state, bytes.baseAddress, bytes.count)
    }

    /// The digest of all input.
    package consuming func finish() -> [UInt8] {
        var state = state
        return [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
            csha256_finish(&state, digest.baseAddress)
            count = 32
        }
    }

    /// A digest in hexadecimal.
    package static func text(_ digest: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in digest {
            for digit in [byte >> 4, byte & 15] { text.append(digit < 10 ? 48 + digit : 87 + digit) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
