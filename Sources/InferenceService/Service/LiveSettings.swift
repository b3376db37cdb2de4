package import Settings

/// The settings and the state that requests are answered by: replaced as a whole when the configuration is reloaded, so
/// that no request sees half of one and half of another.
package final class LiveSettings: Sendable {
    let settings: Settings
    let access: AccessControl
    /// The pages of other origins that may ask; nil for none.
    let cors: CORSPolicy?

    package init(settings: Settings, access: AccessControl) {
        self.settings = settings
        self.access = access
        cors = CORSPolicy(settings.corsOrigins)
    }
}
