internal import Glibc
internal import SystemSupport

/// A failure of the files of kept pictures.
package struct KeepingError: Error, Sendable, Hashable {
    /// A sentence that a person can act on.
    package let message: String
    /// True if the disk is full.
    package let isFull: Bool

    package init(_ message: String, isFull: Bool = false) {
        self.message = message
        self.isFull = isFull
    }

    /// The error of a call that failed with `number`.
    init(_ verb: String, _ path: String, _ number: Int32) {
        self.init(
            "cannot \(verb) \(path): \(SystemError.text(number))", isFull: [ENOSPC, EDQUOT, EFBIG].contains(number))
    }
}
