package import HTTPServer
package import Settings

/// The permission to teach: by the class of a token, or where none are asked for, as for loading models
/// (`repository_control`).
package enum TeachingControl {
    /// Refuses a request that is not allowed, with the reason.
    package static func check(_ request: HTTPRequest, hasTokens: Bool, settings: Settings) throws(ServiceError) {
        guard !hasTokens else { return }
        try RepositoryControl.check(request, settings: settings, what: "teaching")
    }
}
