internal import Settings

/// The time between SIGTERM and SIGKILL, if it is known: manifests set OCELLI_GRACE to their
/// `terminationGracePeriodSeconds`.
enum GracePeriod {
    /// The environment variable.
    static let variable = SettingsLoader.graceVariable

    /// A warning if a drain can take longer than the grace period; nil if it cannot, or if the period is unknown.
    static func warning(_ settings: Settings, environment: [String: String]) -> String? {
        guard let text = environment[variable] else { return nil }
        guard let grace = Units.parseDuration(text) else {
            return "\(variable): expected a time such as \"30s\", found \"\(text.prefix(40))\"; it is ignored"
        }
        let drain = settings.drainDelay + settings.drainTimeout
        guard drain > grace else { return nil }
        return
            "drain_delay (\(Units.duration(settings.drainDelay))) and drain_timeout (\(Units.duration(settings.drainTimeout))) "
            + "are \(Units.duration(drain)) together, and \(variable) gives the process \(Units.duration(grace)): a drain that "
            + "takes longer ends with SIGKILL, and loses requests"
    }
}
