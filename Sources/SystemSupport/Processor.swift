internal import CSystem

/// The instructions of the processor.
package enum Processor {
    /// True if it has instructions that multiply bytes and add the products to 32 bits (VNNI). Without them products of
    /// two bytes are added to 16 bits on the way, and cut off there. False on architectures other than x86-64.
    package static let addsByteProductsExactly = csys_has_vnni() != 0

    /// The extensions that numeric code is chosen by, as a number: virtual machines may lack some that their
    /// processor's name promises.
    package static let instructions = String(csys_instructions(), radix: 16)
}
