package import Settings
package import WireFormats

/// The permission to load and unload models: the setting `repository_control`.
package enum RepositoryControl {
    /// Refuses a request that is not allowed, with the reason.
    /// - Parameter what: the requested action, for the message.
    package static func check(
        _ origin: RequestOrigin, settings: Settings, what: String = "loading and unloading models"
    ) throws(ServiceError) {
        let reason: String
        switch settings.repositoryControl {
        case .all: return
        case .local:
            guard let objection = origin.objection(names: settings.hostNames, listen: settings.listen) else { return }
            reason = objection
        case .none: reason = "it is disabled for all clients"
        }
        throw ServiceError(
            .forbidden,
            "\(what) is not allowed from here: \(reason) (the setting repository_control is "
                + "\"\(settings.repositoryControl.rawValue)\")")
    }
}

/// The permission to teach: granted by the class of a token; without tokens, by `repository_control`, as for loading
/// models.
package enum TeachingControl {
    /// Refuses a request that is not allowed, with the reason.
    package static func check(_ origin: RequestOrigin, hasTokens: Bool, settings: Settings) throws(ServiceError) {
        guard !hasTokens else { return }
        try RepositoryControl.check(origin, settings: settings, what: "teaching")
    }
}
