internal import Glibc
internal import SystemSupport

/// Checks whether the engine's kernels saturate sums of byte products at 16 bits, which they do on processors without
/// VNNI: scores of models that compute with 8-bit integers may then be wrong.
package enum ByteProducts {
    /// The reason VNNI cannot be used: a setting, or the processor; nil if sums are exact. Kernels for other
    /// architectures do not saturate.
    package static var reasonWithoutVNNI: String? {
        #if arch(x86_64)
            for name in ["ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"] {
                guard let value = getenv(name) else { continue }
                let limit = String(cString: value)
                if lacksVNNI(limit) { return "the environment variable \(name) (\(limit)) switches VNNI off" }
            }
            return Processor.addsByteProductsExactly ? nil : "this processor has no VNNI"
        #else
            return nil
        #endif
    }

    /// True if the instruction sets up to a limit do not include VNNI (oneDNN, "CPU Dispatcher Control"). Unknown names
    /// count as no limit.
    package static func lacksVNNI(_ limit: String) -> Bool {
        ["SSE41", "AVX", "AVX2", "AVX512_CORE"].contains(limit.uppercased())
    }
}
