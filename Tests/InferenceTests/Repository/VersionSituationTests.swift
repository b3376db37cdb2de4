import Inference
internal import Repository
import Testing

/// The version of a model that answers, for all combinations of the states of three versions.
@Suite struct VersionSituationTests {
    /// The possible states of a version.
    private static let all: [VersionSituation] = [LoadPolicy.eager, .lazy].flatMap { policy in
        [true, false].flatMap { isReady in
            [true, false].flatMap { hasFailed in
                [false, true].flatMap { isManuallyUnloaded -> [VersionSituation] in
                    // A version that was unloaded on request is not ready.
                    if isReady, isManuallyUnloaded { return [] }
                    return [
                        VersionSituation(
                            policy: policy, isReady: isReady, hasFailed: hasFailed,
                            isManuallyUnloaded: isManuallyUnloaded)
                    ]
                }
            }
        }
    }

    @Test("the highest good version answers in every combination of the states of three versions")
    func theHighestGoodVersionAnswersInEveryCombination() throws {
        #expect(Self.all.count == 12)
        for first in Self.all {
            for second in Self.all {
                for third in Self.all {
                    let versions = [first, second, third]
                    let index = try #require(VersionSituation.answering(versions))
                    let chosen = versions[index]
                    // A ready version is never skipped in favour of one that has failed or is loading at the start.
                    if versions.contains(where: \.isReady) {
                        #expect(
                            chosen.isReady || chosen.policy == .lazy && !chosen.hasFailed && !chosen.isManuallyUnloaded)
                        #expect(VersionSituation.isServing(versions) && VersionSituation.isUpToDate(versions))
                    }
                    #expect(!versions[(index + 1)...].contains { $0.isReady }, "\(versions)")
                    // Requests load the highest version that has not failed, if they may.
                    if let good = versions.lastIndex(where: { $0.isReady || !$0.hasFailed }) {
                        #expect(index <= good, "\(versions)")
                        if versions[good].policy == .lazy, !versions[good].isManuallyUnloaded { #expect(index == good) }
                    }
                    if versions.allSatisfy({ $0.hasFailed && !$0.isReady }) {
                        #expect(index == 2, "its reason is shown")
                        #expect(!VersionSituation.isServing(versions))
                        let isAwaited = third.policy == .eager && !third.isManuallyUnloaded
                        #expect(VersionSituation.isUpToDate(versions) == !isAwaited)
                    }
                }
            }
        }
    }

    @Test("a version whose files are gone answers until another version is ready")
    func aVersionWhoseFilesAreGoneAnswersUntilItIsReplaced() {
        let leaving = VersionSituation(policy: .eager, isReady: true, hasFailed: false, isRetiring: true)
        let loading = VersionSituation(policy: .eager, isReady: false, hasFailed: false)
        let ready = VersionSituation(policy: .eager, isReady: true, hasFailed: false)
        let failed = VersionSituation(policy: .eager, isReady: false, hasFailed: true)
        #expect(VersionSituation.answering([loading, leaving]) == 1)
        #expect(VersionSituation.answering([ready, leaving]) == 0)
        #expect(VersionSituation.answering([failed, leaving]) == 1)
        for version in [loading, failed] { #expect(VersionSituation.isUpToDate([version, leaving])) }
        #expect(VersionSituation.answering([]) == nil)
    }

    @Test("a version that may not serve is treated as absent in every combination")
    func versionsThatMayNotServeArePassedOver() {
        for first in Self.all {
            for second in Self.all {
                var barred = second
                barred.mayServe = false
                #expect(
                    VersionSituation.answering([first, barred]) == 0
                        && VersionSituation.answering([barred, first]) == 1)
                #expect(VersionSituation.isServing([first, barred]) == VersionSituation.isServing([first]))
                #expect(VersionSituation.isUpToDate([first, barred]) == VersionSituation.isUpToDate([first]))
                #expect(VersionSituation.answering([barred, barred]) == nil && !VersionSituation.isServing([barred]))
                #expect(VersionSituation.isUpToDate([barred]) == barred.isManuallyUnloaded)
            }
        }
    }
}
