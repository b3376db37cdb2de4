package import Settings
package import WireFormats

/// The permission to teach: granted by the class of a token; without tokens, by `repository_control`, as for loading
/// models.
package enum TeachingControl {
    /// Refuses a request that is not allowed, with the reason.
    package static func check(_ origin: RequestOrigin, hasTokens: Bool, settings: Settings) throws(ServiceError) {
        guard !hasTokens else { return }
        try RepositoryControl.check(origin, settings: settings, what: "teaching")
    }
}
