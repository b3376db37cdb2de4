/// The decisions of a model's rollout, without files, locks or a clock: each event returns what is to be done.
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
/// - A promotion makes the candidate the version that is named by `serve`. A roll-back keeps the plan and the version
///   that serves, and remembers the candidate's digest: it is not good again before a put names its version.
/// - A change is saved before it counts (``Action/save``): a process that ends meanwhile begins again as it was, or as
///   it is to be.
/// - What is saved is ``Record``; a machine that begins with it is in the same state, with a new comparison.
package struct RolloutMachine: Sendable, Hashable {
    package enum State: String, Sendable, Hashable, CaseIterable {
        case none, comparing, promoted
        case rolledBack = "rolled_back"
        case failed
    }

    /// The part of the state that survives a restart.
    package struct Record: Sendable, Hashable {
        package var plan = RolloutPlan()
        package var state = State.none
        /// The reason it was rolled back, failed or was promoted.
        package var reason: String?
        /// The version that the state is of: who writes another one into rollout.json means another rollout.
        package var judged: String?
        /// The digests of versions that were rolled back, the latest last.
        package var rolledBack: [String] = []

        package init() {}

        /// Adds digests of versions that were rolled back before those that it has: who edits a file does not make good
        /// what was rolled back.
        package mutating func remember(_ earlier: [String]) {
            let all = earlier.filter { !rolledBack.contains($0) } + rolledBack
            rolledBack = Array(all.suffix(RolloutMachine.mostRolledBack))
        }
    }

    package enum Event: Sendable {
        /// An operator's wish. The digests are those of the versions that it names.
        case put(RolloutPlan, digests: [String: String])
        case delete
        /// The candidate's version is loaded, again or for the first time.
        case candidateLoaded
        /// The candidate's version could not be loaded, or its goldens differ.
        case candidateFailed(reason: String)
        /// The comparison decided so.
        case decided(SequentialTest.Decision, compared: Int, agreement: Double, digest: String?)
        /// The candidate gave an error, or no answer in time, where the version that serves answers.
        case candidateErred(reason: String, digest: String?)
        /// The candidate's time over that of the version that serves.
        case measured(ratio: Double, digest: String?)
    }

    package enum Action: Sendable, Hashable {
        /// The record is to be saved; the change counts when that is done.
        case save
        /// Answers are compared from now on, and nothing from before counts.
        case beginComparing
        /// Answers are no longer compared.
        case endComparing
        /// A line for the log.
        case report(String)
    }

    /// Digests that are remembered.
    package static let mostRolledBack = 100

    package private(set) var record: Record

    package init(_ record: Record = Record()) {
        self.record = record
        let wanted = record.plan.candidate?.version
        switch record.state {
        case .rolledBack, .failed: if wanted != nil, record.judged == wanted { return }
        case .promoted: if wanted == nil, record.judged == record.plan.serve { return }
        case .none, .comparing: break
        }
        self.record.state = wanted == nil ? .none : .comparing
        self.record.judged = wanted
        self.record.reason = nil
    }

    package var state: State { record.state }
    package var plan: RolloutPlan { record.plan }
    /// The candidate, as long as it is compared.
    package var candidate: RolloutPlan.Candidate? { state == .comparing ? plan.candidate : nil }

    /// True if a version may answer requests that name none. If the plan names one, no other may, whatever has become
    /// of it; otherwise all but the candidate and those that were rolled back.
    /// - Parameter digest: of its files; nil where it is not known.
    package func mayServe(_ version: String, digest: String?) -> Bool {
        if let serve = plan.serve { return version == serve }
        return plan.candidate?.version != version && !isRolledBack(digest)
    }

    /// True if every version may.
    package var barsNone: Bool {
        record.plan.serve == nil && record.plan.candidate == nil && record.rolledBack.isEmpty
    }

    /// True if the version with these files was rolled back, and no put has named it since.
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
        case .candidateErred(let reason, let digest):
            guard state == .comparing else { return [] }
            return rollBack("it gave an error where the version that serves answers: \(reason)", digest)
        case .measured(let ratio, let digest):
            guard state == .comparing, let most = plan.promote?.latency, ratio > most else { return [] }
            let times = Agreement.hundredths(ratio)
            return rollBack("its inferences take \(times) times as long, expected at most \(most)", digest)
        }
    }

    private mutating func put(_ plan: RolloutPlan, _ digests: [String: String]) -> [Action] {
        let wasComparing = state == .comparing
        // Who names a version again has reason to: it is good until it is rolled back once more.
        for version in [plan.serve, plan.candidate?.version] {
            if let digest = version.flatMap({ digests[$0] }) { record.rolledBack.removeAll { $0 == digest } }
        }
        record.plan = plan
        record.reason = nil
        record.state = plan.candidate == nil ? .none : .comparing
        record.judged = plan.candidate?.version
        let words =
            plan.candidate.map { "version \($0.version) is compared" }
            ?? plan.serve.map { "version \($0) serves, and none is compared" } ?? "no version is compared"
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
            record.rolledBack.removeFirst(max(0, record.rolledBack.count - Self.mostRolledBack))
        }
        return [.save, .endComparing, .report("version \(candidate.version) is rolled back: \(reason)")]
    }
}
