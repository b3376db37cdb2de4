package import Settings
internal import Synchronization

/// The settings and the state that requests are answered by: replaced as a whole when the configuration is reloaded, so
/// that no request sees half of one and half of another.
package final class LiveSettings: Sendable {
    let settings: Settings
    let access: AccessControl
    /// The pages of other origins that may ask; nil for none.
    let cors: CORSPolicy?

    /// No other settings have the same number.
    let number: UInt64
    private static let numbers = Atomic<UInt64>(0)

    package init(settings: Settings, access: AccessControl) {
        self.settings = settings
        self.access = access
        cors = CORSPolicy(settings.corsOrigins)
        number = Self.numbers.add(1, ordering: .relaxed).newValue
    }
}
