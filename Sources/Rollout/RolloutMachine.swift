/// The state machine of a model's rollout, without files, locks or a clock: each event returns the actions to take.
///
///     ┌──────┐ put with a candidate ┌───────────┐ agrees, often enough      ┌──────────┐
///     │ none │ ───────────────────▶ │ comparing │ ────────────────────────▶ │ promoted │
///     └──────┘                      └───────────┘                           └──────────┘
///        ▲  put without one, delete     │  ▲ │  differs, errs, slow         ┌─────────────┐
///        └──── (from every state)       │  │ └────────────────────────────▶ │ rolled_back │
///                                       │  │ it is loaded                   └─────────────┘
///                                       ▼  │
///                                   ┌────────┐
///                                   │ failed │ the candidate cannot be loaded, or its goldens differ
///                                   └────────┘
///
/// - A promotion makes the candidate the version named by `serve`. A roll-back keeps the plan and the serving version,
///   and records the candidate's digest: that version is excluded until a put names it again.
/// - A change is saved before it takes effect (``Action/save``): if the process ends in between, it restarts in the old
///   state or in the new one.
/// - The saved state is ``Record``; a machine restored from it is in the same state, with a new comparison.
package struct RolloutMachine: Sendable, Hashable {
    package enum State: String, Sendable, Hashable, CaseIterable {
        case none, comparing, promoted
        case rolledBack = "rolled_back"
        case failed
    }

    package struct Record: Sendable, Hashable {
        package var plan = RolloutPlan()
        package var state = State.none
        /// The reason why the candidate was rolled back, failed or was promoted.
        package var reason: String?
        /// The version to which the state applies. If an operator writes another candidate into rollout.json, the
        /// rollout is a new one.
        package var judged: String?
        /// The digests of versions that were rolled back, the latest last.
        package var rolledBack: [String] = []

        package init() {}

        /// Inserts earlier digests of versions that were rolled back: an edited rollout.json does not readmit them.
        package mutating func remember(_ earlier: [String]) {
            let all = earlier.filter { !rolledBack.contains($0) } + rolledBack
            rolledBack = Array(all.suffix(RolloutMachine.maximumRolledBack))
        }
    }

    package enum Event: Sendable {
        /// An operator's plan, with the digests of the versions that it names.
        case put(RolloutPlan, digests: [String: String])
        case delete
        /// The candidate's version was loaded, for the first time or again.
        case candidateLoaded
        /// The candidate's version could not be loaded, or its goldens differ.
        case candidateFailed(reason: String)
        case decided(SequentialTest.Decision, compared: Int, agreement: Double, digest: String?)
        /// The candidate returned an error or no answer in time, for a picture that the serving version answered.
        case candidateReturnedError(reason: String, digest: String?)
        /// The ratio of the candidate's inference time to that of the serving version.
        case measured(ratio: Double, digest: String?)
    }

    package enum Action: Sendable, Hashable {
        /// Save the record; the change takes effect when that is done.
        case save
        /// Start comparing answers, with empty counts.
        case beginComparing
        /// Stop comparing answers.
        case endComparing
        /// Write a line to the log.
        case report(String)
    }

    /// The maximum number of digests recorded.
    package static let maximumRolledBack = 100

    package private(set) var record: Record

    package init(_ record: Record = Record()) {
        self.record = record
        let candidateVersion = record.plan.candidate?.version
        switch record.state {
        case .rolledBack, .failed: if candidateVersion != nil, record.judged == candidateVersion { return }
        case .promoted: if candidateVersion == nil, record.judged == record.plan.serve { return }
        case .none, .comparing: break
        }
        self.record.state = candidateVersion == nil ? .none : .comparing
        self.record.judged = candidateVersion
        self.record.reason = nil
    }

    package var state: State { record.state }
    package var plan: RolloutPlan { record.plan }
    /// The candidate while it is compared; nil in other states.
    package var candidate: RolloutPlan.Candidate? { state == .comparing ? plan.candidate : nil }

    /// True if a version may answer requests without a version. If the plan names one, only that version may, even if
    /// it failed; otherwise every version but the candidate and those that were rolled back.
    /// - Parameter digest: the digest of its files; nil if it is not known.
    package func mayServe(_ version: String, digest: String?) -> Bool {
        if let serve = plan.serve { return version == serve }
        return plan.candidate?.version != version && !isRolledBack(digest)
    }

    /// True if every version may serve.
    package var allowsAll: Bool {
        record.plan.serve == nil && record.plan.candidate == nil && record.rolledBack.isEmpty
    }

    /// True if the version with this digest was rolled back and no put has named it since.
    package func isRolledBack(_ digest: String?) -> Bool { digest.map(record.rolledBack.contains) ?? false }

    package mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .put(let plan, let digests): return put(plan, digests)
        case .delete:
            let wasComparing = state == .comparing
            record.plan = RolloutPlan()
            record.state = .none
            record.judged = nil
            record.reason = nil
            return [.save] + (wasComparing ? [.endComparing] : []) + [.report("the rollout was deleted")]
        case .candidateLoaded:
            guard state == .failed, let candidate = plan.candidate else { return [] }
            record.state = .comparing
            record.reason = nil
            return [.save, .beginComparing, .report("version \(candidate.version) is compared")]
        case .candidateFailed(let reason):
            guard state == .comparing, let candidate = plan.candidate else { return [] }
            record.state = .failed
            record.reason = reason
            return [.save, .endComparing, .report("version \(candidate.version) cannot be compared: \(reason)")]
        case .decided(let decision, let compared, let agreement, let digest):
            guard state == .comparing, let promote = plan.promote else { return [] }
            let share = "\(Agreement.thousandths(agreement)) of \(compared) pictures"
            switch decision {
            case .notYet: return []
            case .disagrees:
                return rollBack("it agrees on \(share), expected \(promote.agreement)", digest)
            case .agrees:
                return compared >= promote.after ? promoteCandidate("it agrees on \(share)") : []
            }
        case .candidateReturnedError(let reason, let digest):
            guard state == .comparing else { return [] }
            return rollBack("it returned an error where the serving version answers: \(reason)", digest)
        case .measured(let ratio, let digest):
            guard state == .comparing, let maximum = plan.promote?.latency, ratio > maximum else { return [] }
            let times = Agreement.hundredths(ratio)
            return rollBack("its inferences take \(times) times as long, expected at most \(maximum)", digest)
        }
    }

    private mutating func put(_ plan: RolloutPlan, _ digests: [String: String]) -> [Action] {
        let wasComparing = state == .comparing
        // A put readmits the versions that it names, until they are rolled back again.
        for version in [plan.serve, plan.candidate?.version] {
            if let digest = version.flatMap({ digests[$0] }) { record.rolledBack.removeAll { $0 == digest } }
        }
        record.plan = plan
        record.reason = nil
        record.state = plan.candidate == nil ? .none : .comparing
        record.judged = plan.candidate?.version
        let words =
            plan.candidate.map { "version \($0.version) is compared" }
            ?? plan.serve.map { "version \($0) serves, and no version is compared" } ?? "no version is compared"
        return [.save] + (wasComparing ? [.endComparing] : []) + (plan.candidate == nil ? [] : [.beginComparing])
            + [.report(words)]
    }

    private mutating func promoteCandidate(_ reason: String) -> [Action] {
        guard let candidate = plan.candidate else { return [] }
        let before = plan.serve
        record.plan.serve = candidate.version
        record.plan.candidate = nil
        record.state = .promoted
        record.judged = candidate.version
        record.reason = reason
        let instead = before.map { " instead of version \($0)" } ?? ""
        return [.save, .endComparing, .report("version \(candidate.version) serves\(instead): \(reason)")]
    }

    private mutating func rollBack(_ reason: String, _ digest: String?) -> [Action] {
        guard let candidate = plan.candidate else { return [] }
        record.state = .rolledBack
        record.reason = reason
        if let digest {
            record.rolledBack.removeAll { $0 == digest }
            record.rolledBack.append(digest)
            record.rolledBack.removeFirst(max(0, record.rolledBack.count - Self.maximumRolledBack))
        }
        return [.save, .endComparing, .report("version \(candidate.version) is rolled back: \(reason)")]
    }
}
