package import SystemSupport

/// Decides when memory that is kept for later requests is returned to the kernel: once in each idle period, after
/// ``rest``.
package struct IdleMemory: Sendable {
    /// The time without activity after which memory is released.
    package static let rest = Duration.seconds(10)

    /// The last activity before the last release.
    private var released: MonotonicInstant?

    package init() {}

    /// True if memory must be released now.
    /// - Parameter lastActivity: the time of the last prediction's end or the last load; nil if no model is loaded.
    package mutating func shouldRelease(lastActivity: MonotonicInstant?, now: MonotonicInstant) -> Bool {
        let activity = lastActivity ?? MonotonicInstant(nanoseconds: 0)
        guard activity != released, now >= activity + Self.rest else { return false }
        released = activity
        return true
    }
}
