import FlowControl
import Inference
internal import Repository
import Rollout
import SystemSupport
import TestSupport
import Testing

/// The versions of a model and its rollout together, in random sequences: loads, reloads, unloads, puts, promotions,
/// roll-backs and crashes. After every step, the version that answers must follow from the plan, the files and the
/// digests.
@Suite struct ModelLifeTests {
    private typealias Version = VersionMachine<String, Int>

    private struct Life {
        var versions: [String: Version] = [:]
        var rollout = RolloutMachine()
        var saved = RolloutMachine.Record()

        /// The version that answers requests without a version.
        var answering: (version: String, isReady: Bool)? {
            let names = versions.keys.sorted()
            let situations = names.compactMap { versions[$0] }.enumerated().map { index, machine in
                VersionSituation(
                    policy: .eager, isReady: machine.model != nil, hasFailed: machine.failure != nil,
                    isManuallyUnloaded: machine.isManuallyUnloaded,
                    mayServe: rollout.mayServe(names[index], digest: "d\(names[index])")
                )
            }
            return VersionSituation.answering(situations).map { (names[$0], situations[$0].isReady) }
        }
    }

    @Test("in random sequences of loads, rollouts and crashes, only a version that may serve answers")
    func randomLives() {
        let seed = SplitMix.seed(for: "ModelLifeTests")
        var random = SplitMix(seed: seed)
        for _ in 0..<1_000 {
            var life = Life()
            for _ in 0..<60 {
                let version = ["1", "2", "3"].randomElement(using: &random) ?? "1"
                let before = life.answering
                let step = Int.random(in: 0..<10, using: &random)
                take(step, version, &life, &random)
                check(life, before: before, step: step, version: version, seed: seed)
            }
        }
    }

    private func take(_ step: Int, _ version: String, _ life: inout Life, _ random: inout SplitMix) {
        let now = MonotonicInstant(nanoseconds: .random(in: 0..<1_000_000_000_000, using: &random))
        var events: [RolloutMachine.Event] = []
        switch step {
        case 0: life.versions[version] = life.versions[version] ?? Version()
        case 1:
            _ = life.versions[version]?.request(
                again: random.chance(50), bringsBack: random.chance(50), with: ModelConfiguration(), at: now, pending: 1
            )
        case 2:
            if life.versions[version]?.loadSucceeds("model \(version)").isKept == true { events = [.candidateLoaded] }
        case 3:
            life.versions[version]?.loadFails("no", at: now)
            if life.rollout.plan.candidate?.version == version, life.versions[version]?.model == nil {
                events = [.candidateFailed(reason: "no")]
            }
        case 4: _ = life.versions[version]?.unload(unloadsManually: random.chance(50))
        case 5:
            var plan = RolloutPlan()
            plan.serve = random.chance(70) ? version : nil
            let candidate = ["1", "2", "3"].randomElement(using: &random) ?? "1"
            if candidate != plan.serve, random.chance(70) { plan.candidate = .init(version: candidate) }
            plan.promote = RolloutPlan.Promotion()
            events = [.put(plan, digests: ["1": "d1", "2": "d2", "3": "d3"])]
        case 6: events = [.delete]
        case 7:
            let digest = life.rollout.plan.candidate.map { "d\($0.version)" }
            events = [
                .decided(random.chance(50) ? .agrees : .disagrees, compared: 5_000, agreement: 0.9, digest: digest)
            ]
        case 8: life.versions[version]?.forgetFailure()
        default:
            // A crash: the versions are found and loaded again, and the file is read.
            life.versions = life.versions.mapValues { _ in Version() }
            life.rollout = RolloutMachine(life.saved)
        }
        for event in events where life.rollout.handle(event).contains(.save) { life.saved = life.rollout.record }
    }

    private func check(
        _ life: Life, before: (version: String, isReady: Bool)?, step: Int, version: String, seed: UInt64
    ) {
        let rollout = life.rollout, words: Comment = "step \(step) of \(version), seed \(seed)"
        guard let answering = life.answering else {
            let allowed = life.versions.keys.filter { rollout.mayServe($0, digest: "d\($0)") }
            #expect(allowed.isEmpty, words)
            return
        }
        if let serve = rollout.plan.serve {
            #expect(answering.version == serve, words)
        } else {
            #expect(answering.version != rollout.plan.candidate?.version, words)
            #expect(!rollout.isRolledBack("d\(answering.version)"), words)
            // No ready version that may serve is skipped in favour of one that is not ready.
            let ready = life.versions.filter { $0.value.model != nil && rollout.mayServe($0.key, digest: "d\($0.key)") }
            #expect(ready.isEmpty || answering.isReady, words)
        }
        // Loads, failures and unloads of other versions do not affect a ready version that the rollout names.
        if rollout.plan.serve != nil, (0...4).contains(step), let before, before.isReady, before.version != version {
            #expect(answering.version == before.version && answering.isReady, words)
        }
    }
}
