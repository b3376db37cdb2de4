internal import Glibc

/// The end of the process.
package enum Process {
    /// Ends at once, without waiting for anything.
    package static func exit(_ status: Int32) -> Never { _exit(status) }
}
