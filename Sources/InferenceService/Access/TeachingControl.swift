package import Settings

/// The permission to teach: by the class of a token, or where none are asked for, as for loading models
/// (`repository_control`).
package enum TeachingControl {
    /// Refuses a request that is not allowed, with the reason.
    package static func check(_ origin: RequestOrigin, hasTokens: Bool, settings: Settings) throws(ServiceError) {
        guard !hasTokens else { return }
        try RepositoryControl.check(origin, settings: settings, what: "teaching")
    }
}
