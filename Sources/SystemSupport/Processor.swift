internal import CSystem
internal import Glibc

/// The instruction set of the processor.
package enum Processor {
    /// True if the processor can multiply bytes and add the products to 32 bits (VNNI). Without VNNI, products of two
    /// bytes are added to 16 bits first, which saturates. False on architectures other than x86-64.
    package static let addsByteProductsExactly = csys_has_vnni() != 0

    /// The extensions that numeric code is selected by, as a hexadecimal number: virtual machines may lack some
    /// extensions of their processor model.
    package static let instructions = String(csys_instructions(), radix: 16)

    /// The extensions that engines may use: those of the processor, and the limits that the environment sets (oneDNN,
    /// "CPU Dispatcher Control"). Answers of the same model may differ with another text.
    package static var usedInstructions: String {
        let limits = ["ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"].compactMap { (name: String) -> String? in
            getenv(name).map { String(cString: $0) }
        }
        return ([instructions] + limits).joined(separator: " ")
    }
}
