import Foundation

/// The abilities of the processor that tests run on.
public enum TestProcessor {
    /// True if it has instructions that multiply bytes and add the products to 32 bits, in the kernel's words;
    /// scripts/other-processors takes some back. Without them the engine's own integer kernels cut sums off, so that
    /// quantized models give other numbers, and some other labels.
    public static let hasVNNI: Bool = {
        let text = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let without = ProcessInfo.processInfo.environment["PROCESSOR_WITHOUT"]?.split(separator: " ") ?? []
        return ["avx512_vnni", "avx_vnni"].contains { !without.contains($0[...]) && text.contains(" \($0)") }
    }()
}
