extension Comparison {
    /// The event that the answers and times so far are for a rollout; nil as long as they say nothing.
    ///
    /// A candidate that gave an error is out; so is one that takes longer than it may, as soon as chance cannot be the
    /// reason. It is promoted only if it is not slower than it may be by what was measured, too.
    /// - Parameter digest: of the candidate's files.
    package func verdict(for plan: RolloutPlan, digest: String?) -> RolloutMachine.Event? {
        if let error = candidateError { return .candidateErred(reason: error, digest: digest) }
        guard let promote = plan.promote else { return nil }
        if let most = promote.latency, let least = latency.leastRatio, least > most {
            return .measured(ratio: latency.ratio ?? least, digest: digest)
        }
        let isInTime = promote.latency.map { most in latency.ratio.map { $0 <= most } ?? true } ?? true
        switch decision {
        case .notYet: return nil
        case .agrees where compared < promote.after || !isInTime: return nil
        case .agrees, .disagrees:
            return .decided(decision, compared: compared, agreement: agreement ?? 0, digest: digest)
        }
    }
}
