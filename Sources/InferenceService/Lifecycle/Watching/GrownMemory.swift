/// Decides when free memory of malloc is returned to the kernel although requests arrive: whenever resident memory has
/// grown. Blocks of many sizes leave gaps that malloc keeps: a reader's memory grew by 60 MiB in 3,000 pages of as many
/// sizes, and a release returned two thirds of that.
package struct GrownMemory: Sendable {
    /// The growth in bytes after which memory is released.
    package static let step = 16 << 20

    /// The least resident memory since the last release.
    private var least: Int?

    package init() {}

    /// True if memory must be released now. After that, the next call only sets the mark for later ones.
    /// - Parameter resident: the resident bytes of the process; nil if they are not known.
    package mutating func shouldRelease(resident: Int?) -> Bool {
        guard let resident else { return false }
        guard let before = least else {
            least = resident
            return false
        }
        guard resident - before > Self.step else {
            least = min(before, resident)
            return false
        }
        least = nil
        return true
    }
}
