package import Settings
internal import Synchronization

/// The settings and the access control that answer requests. A reload replaces the object as a whole, so that no
/// request uses a mix of old and new settings.
package final class LiveSettings: Sendable {
    package let settings: Settings
    package let access: AccessControl
    /// The permission for pages of other origins; nil if they have none.
    package let cors: CORSPolicy?

    /// The memory for all answers that wait for their clients, in bytes.
    package let answerBytes: Int

    /// A number that no other settings have.
    package let number: UInt64
    private static let numbers = Atomic<UInt64>(0)

    package init(settings: Settings, access: AccessControl, answerBytes: Int = .max) {
        self.answerBytes = answerBytes
        self.settings = settings
        self.access = access
        cors = CORSPolicy(settings.corsOrigins)
        number = Self.numbers.add(1, ordering: .relaxed).newValue
    }
}
