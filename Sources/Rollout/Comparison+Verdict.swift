extension Comparison {
    /// The event that follows from the comparison so far; nil if it is not conclusive yet.
    ///
    /// A candidate that returned an error is rolled back, and so is one that is significantly slower than the limit. It
    /// is promoted only if its measured time is within the limit, too.
    /// - Parameter digest: the digest of the candidate's files.
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
