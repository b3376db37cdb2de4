internal import CSHA256

/// SHA-1, computed incrementally by libcrypto: git names the contents of files by it. For nothing that must withstand
/// an attack on its own.
package struct SHA1: Sendable {
    private var state = csha1_begin()

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        csha1_update(&state, bytes.baseAddress, bytes.count)
    }

    /// The digest of all input, 20 bytes long.
    package consuming func finish() -> [UInt8] {
        var state = state
        return [UInt8](unsafeUninitializedCapacity: 20) { digest, count in
            csha1_finish(&state, digest.baseAddress)
            count = 20
        }
    }
}
