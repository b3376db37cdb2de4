package import Choices

/// The properties of a model's version that decide whether it answers requests without a version.
package struct VersionSituation: Sendable, Hashable {
    package var policy: LoadPolicy
    package var isReady: Bool
    package var hasFailed: Bool
    /// True if it was unloaded on request.
    package var isManuallyUnloaded = false
    /// True if its files are gone, and it answers until its replacement is ready.
    package var isRetiring = false
    /// False if the rollout names another version to serve, or this version is a candidate that is still being
    /// compared, or it was rolled back (``RolloutMachine``).
    package var mayServe = true

    package init(
        policy: LoadPolicy, isReady: Bool, hasFailed: Bool, isManuallyUnloaded: Bool = false, isRetiring: Bool = false,
        mayServe: Bool = true
    ) {
        self.policy = policy
        self.isReady = isReady
        self.hasFailed = hasFailed
        self.isManuallyUnloaded = isManuallyUnloaded
        self.isRetiring = isRetiring
        self.mayServe = mayServe
    }

    /// True if a request can load it.
    private var isLoadedByRequests: Bool { policy == .lazy && !isReady && !isManuallyUnloaded }

    /// The version that answers, or that would if it were loaded: the highest good one. A version that failed is used
    /// only if no other exists.
    /// - Parameter versions: in ascending order.
    /// - Returns: its index; nil if the list is empty, or no version may serve.
    package static func answering(_ versions: [VersionSituation]) -> Int? {
        let allowed = versions.indices.filter { versions[$0].mayServe }
        let present = allowed.filter { !versions[$0].isRetiring }
        let good = present.last { versions[$0].isReady || !versions[$0].hasFailed }
        if let good, versions[good].isReady || versions[good].isLoadedByRequests { return good }
        // While the highest is still being loaded, older ones keep answering.
        return allowed.last { versions[$0].isReady } ?? good ?? present.last ?? allowed.last
    }

    /// True if a request without a version is answered: now, or by a load that it starts.
    package static func isServing(_ versions: [VersionSituation]) -> Bool {
        guard let index = answering(versions) else { return false }
        return versions[index].isReady || versions[index].isLoadedByRequests && !versions[index].hasFailed
    }

    /// True if the model need not be waited for: it serves, or only a request loads it.
    package static func isUpToDate(_ versions: [VersionSituation]) -> Bool {
        guard let highest = versions.last(where: { !$0.isRetiring && $0.mayServe }) else {
            // If versions exist but none may serve, requests are refused.
            return versions.allSatisfy { $0.isRetiring || $0.isManuallyUnloaded }
        }
        return highest.policy == .lazy || highest.isManuallyUnloaded || isServing(versions)
    }
}
