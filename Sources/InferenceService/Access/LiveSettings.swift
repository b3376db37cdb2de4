package import Settings
internal import Synchronization

/// The settings and the access control that answer requests. A reload replaces the object as a whole, so that no
/// request uses a mix of old and new settings.
package final class LiveSettings: Sendable {
    let settings: Settings
    let access: AccessControl
    /// The permission for pages of other origins; nil if they have none.
    let cors: CORSPolicy?

    /// A number that no other settings have.
    let number: UInt64
    private static let numbers = Atomic<UInt64>(0)

    package init(settings: Settings, access: AccessControl) {
        self.settings = settings
        self.access = access
        cors = CORSPolicy(settings.corsOrigins)
        number = Self.numbers.add(1, ordering: .relaxed).newValue
    }
}
