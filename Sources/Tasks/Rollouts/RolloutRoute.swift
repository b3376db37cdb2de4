internal import HTTPWire
package import Inference
internal import Repository
internal import Rollout
internal import ServiceCore
internal import Settings
internal import SystemSupport

/// The part of one request in a model's rollout, as decided when its head arrived.
package struct RolloutRoute: Sendable {
    let name: String
    let rollout: ModelRollout
    /// The candidate's version.
    package let candidate: String
    /// True if the candidate answers the request instead of the serving version.
    package let isShare: Bool
    /// Keeps the picture for the other version, if that is also asked; nil if it is not.
    package let sample: DecodedInput?
    let shadows: Shadows
    /// The folder for pictures with different answers; nil to keep none.
    let folder: DifferenceFolder?

    /// Keeps pictures that both versions classify differently; nil to keep none.
    let keeper: PictureKeeper?

    /// Reports an error of the candidate's own to the rollout.
    func candidateReturnedError(_ reason: String) {
        shadows.repository.candidateReturnedError(of: name, candidate: candidate, reason: reason)
    }

    /// Records that the candidate answered one of its requests.
    func candidateAnswered() { shadows.answered(self) }

    /// Records that the deadline of one of the candidate's requests passed while the candidate ran.
    /// - Parameter began: the time when the request arrived.
    func candidateWasLate(began: MonotonicInstant) { shadows.wasLate(self, began: began) }

    /// Asks the other version for its answer, in the background.
    /// - Parameters:
    ///   - version: the version that gave the answer.
    ///   - isCandidates: whether it is the candidate.
    func begin(_ work: ShadowWork, by version: String, isCandidates: Bool) {
        shadows.begin(work, self, by: version, isCandidates: isCandidates)
    }
}

extension Shadows {
    /// The part of a request that names no version in its model's rollout; nil if no candidate is compared.
    func route(_ name: String, _ call: Call) -> RolloutRoute? {
        guard let rollout = repository.comparedRollout(of: name), let candidate = rollout.candidate else { return nil }
        let version = candidate.version
        var isShare = false
        if candidate.share > 0, (try? repository.readyModel(named: name, version: version)) ?? nil != nil {
            let named = candidate.sticky.flatMap { call.head.value(of: $0.lowercased()) }
            let key = named.map { StickyShare.number(Array($0.utf8)) } ?? call.sender.sticky
            isShare = StickyShare.contains(
                key, share: candidate.share, candidate: StickyShare.number(Array("\(name)\u{0}\(version)".utf8)))
        }
        let isSampled = candidate.shadow > 0 && Double.random(in: 0..<1) < candidate.shadow
        guard isShare || isSampled else { return nil }
        return RolloutRoute(
            name: name, rollout: rollout, candidate: version, isShare: isShare,
            sample: isSampled ? DecodedInput() : nil,
            shadows: self,
            folder: call.live.settings.keepDifferences
                ? repository.stateFolder.map { DifferenceFolder(path: $0) } : nil,
            keeper: call.head.hasCacheControl("no-store") ? nil : call.parts.kept
        )
    }
}
