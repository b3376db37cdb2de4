package import SystemSupport

/// Decides when memory that is kept for later requests is returned to the kernel: once per idle period, when it has
/// lasted for a while.
package struct IdleMemory: Sendable {
    /// The time without activity after which memory is released.
    package static let rest = Duration.seconds(10)

    /// The activity after which memory was released last.
    private var released: MonotonicInstant?

    package init() {}

    /// - Parameter lastActivity: when a prediction last ended, or a model was loaded; nil if no model is loaded.
    package mutating func isToBeReleased(lastActivity: MonotonicInstant?, now: MonotonicInstant) -> Bool {
        let activity = lastActivity ?? MonotonicInstant(nanoseconds: 0)
        guard activity != released, now >= activity + Self.rest else { return false }
        released = activity
        return true
    }
}
