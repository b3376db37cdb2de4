import Foundation

/// The capabilities of the processor that runs the tests.
public enum TestProcessor {
    /// True if it has instructions that multiply bytes and add the products to 32 bits, by the kernel's names;
    /// scripts/other-processors hides some. Without them the sums in the engine's own integer kernels saturate, so that
    /// quantized models give other numbers, and sometimes other labels.
    public static let hasVNNI: Bool = {
        let text = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let without = ProcessInfo.processInfo.environment["PROCESSOR_WITHOUT"]?.split(separator: " ") ?? []
        return ["avx512_vnni", "avx_vnni"].contains { !without.contains($0[...]) && text.contains(" \($0)") }
    }()
}
