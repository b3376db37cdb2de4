internal import HTTPWire
internal import Inference
internal import Rollout
internal import Settings
internal import SystemSupport

/// The part of one request in a model's rollout, as it was decided when its head came.
struct RolloutRoute: Sendable {
    let name: String
    let rollout: ModelRollout
    /// The candidate's version.
    let candidate: String
    /// The candidate answers, not the version that serves.
    let isShare: Bool
    /// The other version is to be asked as well; this keeps the picture for it.
    let sample: DecodedInput?
    let shadows: Shadows
    /// The folder for pictures that differ; nil keeps none.
    let folder: DifferenceFolder?

    /// The candidate gave an error that is its own fault.
    func candidateErred(_ reason: String) {
        shadows.repository.candidateErred(of: name, candidate: candidate, reason: reason)
    }

    /// The candidate has answered a request of its share.
    func candidateAnswered() { shadows.answered(self) }

    /// The deadline of a request of the candidate's share passed while the candidate ran.
    /// - Parameter began: when the request came.
    func candidateWasLate(began: MonotonicInstant) { shadows.wasLate(self, began: began) }

    /// Asks the other version what one has answered.
    /// - Parameter isCandidates: whether the candidate has answered.
    func begin(_ work: ShadowWork, isCandidates: Bool) {
        shadows.begin(work, self, isCandidates: isCandidates, keeping: folder)
    }
}

extension Shadows {
    /// The part of a request that names no version in its model's rollout; nil if no candidate is compared.
    func route(
        _ name: String, _ head: RequestHead, sender: ClientIdentity?, settings: Settings
    ) -> RolloutRoute? {
        guard let rollout = repository.comparedRollout(of: name), let candidate = rollout.candidate else { return nil }
        let version = candidate.version
        var isShare = false
        if candidate.share > 0, (try? repository.readyModel(named: name, version: version)) ?? nil != nil {
            let named = candidate.sticky.flatMap { head.value(of: $0.lowercased()) }
            let key = named.map { StickyShare.number(Array($0.utf8)) } ?? sender?.sticky ?? 0
            isShare = StickyShare.contains(
                key, share: candidate.share, candidate: StickyShare.number(Array("\(name)\u{0}\(version)".utf8)))
        }
        let isSampled = candidate.shadow > 0 && Double.random(in: 0..<1) < candidate.shadow
        guard isShare || isSampled else { return nil }
        return RolloutRoute(
            name: name, rollout: rollout, candidate: version, isShare: isShare,
            sample: isSampled ? DecodedInput() : nil,
            shadows: self,
            folder: settings.keepDifferences ? repository.stateFolder.map { DifferenceFolder(path: $0) } : nil)
    }
}
