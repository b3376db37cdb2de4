import JSON
import Rollout
import TestSupport
import Testing

/// The transitions of a rollout: each state with each event, and random sequences.
@Suite struct RolloutMachineTests {
    typealias Machine = RolloutMachine

    private static func plan(
        serve: String? = "2", candidate: String? = "3", promote: Bool = true
    ) -> RolloutPlan {
        var plan = RolloutPlan()
        plan.serve = serve
        plan.candidate = candidate.map { RolloutPlan.Candidate(version: $0) }
        if promote {
            plan.promote = RolloutPlan.Promotion()
            plan.promote?.latency = 1.2
        }
        return plan
    }

    private static func machine(_ state: Machine.State) -> Machine {
        var machine = Machine()
        guard state != .none else { return machine }
        _ = machine.handle(.put(plan(), digests: [:]))
        switch state {
        case .none, .comparing: break
        case .promoted: _ = machine.handle(.decided(.agrees, compared: 2_000, agreement: 1, digest: "d3"))
        case .rolledBack: _ = machine.handle(.candidateReturnedError(reason: "x", digest: "d3"))
        case .failed: _ = machine.handle(.candidateFailed(reason: "x"))
        }
        #expect(machine.state == state)
        return machine
    }

    /// Events with the next state for each state, in the order none, comparing, promoted, rolled_back, failed.
    private static let table: [(name: String, event: Machine.Event, next: [Machine.State])] = [
        (
            "put with a candidate", .put(plan(), digests: [:]),
            [.comparing, .comparing, .comparing, .comparing, .comparing]
        ),
        ("put without one", .put(plan(candidate: nil), digests: [:]), [.none, .none, .none, .none, .none]),
        ("delete", .delete, [.none, .none, .none, .none, .none]),
        ("candidate loaded", .candidateLoaded, [.none, .comparing, .promoted, .rolledBack, .comparing]),
        ("candidate failed", .candidateFailed(reason: "y"), [.none, .failed, .promoted, .rolledBack, .failed]),
        (
            "not yet", .decided(.notYet, compared: 9_999, agreement: 0.9, digest: "d3"),
            [.none, .comparing, .promoted, .rolledBack, .failed]
        ),
        (
            "agrees", .decided(.agrees, compared: 2_000, agreement: 1, digest: "d3"),
            [.none, .promoted, .promoted, .rolledBack, .failed]
        ),
        (
            "agrees, too few", .decided(.agrees, compared: 1_999, agreement: 1, digest: "d3"),
            [.none, .comparing, .promoted, .rolledBack, .failed]
        ),
        (
            "disagrees", .decided(.disagrees, compared: 10, agreement: 0.2, digest: "d3"),
            [.none, .rolledBack, .promoted, .rolledBack, .failed]
        ),
        (
            "errs", .candidateReturnedError(reason: "the engine failed", digest: "d3"),
            [.none, .rolledBack, .promoted, .rolledBack, .failed]
        ),
        ("slow", .measured(ratio: 1.21, digest: "d3"), [.none, .rolledBack, .promoted, .rolledBack, .failed]),
        ("as fast", .measured(ratio: 1.2, digest: "d3"), [.none, .comparing, .promoted, .rolledBack, .failed]),
    ]

    @Test("every event moves a rollout from every state to the state in the table", arguments: table.indices)
    func theTable(_ row: Int) {
        let (name, event, next) = Self.table[row]
        for (state, expected) in zip(Machine.State.allCases, next) {
            var machine = Self.machine(state)
            let before = machine.record
            let actions = machine.handle(event)
            #expect(machine.state == expected, "\(name) in \(state)")
            // Changes are saved, and nothing else is.
            #expect(actions.contains(.save) || machine.record == before, "\(name) in \(state)")
            #expect(
                actions.isEmpty == (state == expected && !name.hasPrefix("put") && name != "delete"),
                "\(name) in \(state)")
            #expect(actions.first == nil || actions.first == .save, "the change counts when it is saved")
            if state == .comparing, expected != .comparing { #expect(actions.contains(.endComparing)) }
            if expected == .comparing, !actions.isEmpty { #expect(actions.contains(.beginComparing)) }
        }
    }

    private func version(_ number: String, _ digest: String? = nil, good: Bool = true) -> LoadedVersion {
        LoadedVersion(number: number, digest: digest ?? "d\(number)", isGood: good)
    }

    @Test("a promoted candidate serves, until a new plan names the old version")
    func aPromotionMakesTheCandidateServe() {
        var machine = Self.machine(.comparing)
        let versions = [version("1"), version("2"), version("3")]
        #expect(machine.serving(versions) == 1)
        let actions = machine.handle(.decided(.agrees, compared: 2_000, agreement: 0.9951, digest: "d3"))
        #expect(
            actions == [
                .save, .endComparing,
                .report("version 3 serves instead of version 2: it agrees on 0.995 of 2000 pictures"),
            ])
        #expect(machine.serving(versions) == 2 && machine.plan.candidate == nil)
        // A single call reverts it.
        _ = machine.handle(.put(Self.plan(candidate: nil), digests: [:]))
        #expect(machine.serving(versions) == 1)
    }

    @Test("without promote in the plan, only an error of the candidate ends the comparison")
    func withoutPromoteNothingIsDecided() {
        var machine = Machine()
        _ = machine.handle(.put(Self.plan(promote: false), digests: [:]))
        for decision in SequentialTest.Decision.allCases {
            #expect(machine.handle(.decided(decision, compared: 9_999, agreement: 0.5, digest: nil)) == [])
        }
        #expect(machine.handle(.measured(ratio: 50, digest: nil)) == [] && machine.state == .comparing)
        _ = machine.handle(.candidateReturnedError(reason: "x", digest: nil))
        #expect(machine.state == .rolledBack, "an error is out all the same")
    }

    @Test("the reason for a roll-back has the measured and the expected value")
    func theReasonSaysWhatWasExpected() {
        var machine = Self.machine(.comparing)
        let slow = machine.handle(.measured(ratio: 2.004, digest: "d3"))
        #expect(
            slow.last
                == .report("version 3 is rolled back: its inferences take 2.00 times as long, expected at most 1.2"))
        machine = Self.machine(.comparing)
        _ = machine.handle(.decided(.disagrees, compared: 40, agreement: 0.8, digest: "d3"))
        #expect(machine.record.reason == "it agrees on 0.800 of 40 pictures, expected 0.98")
        _ = machine.handle(.put(Self.plan(), digests: [:]))
        #expect(machine.record.reason == nil)
    }

    // MARK: The serving version

    @Test("without a plan the highest version that was loaded serves")
    func withoutAPlanTheHighestGoodVersionServes() {
        let machine = Machine()
        #expect(machine.serving([version("1"), version("2"), version("3", good: false)]) == 1)
        #expect(machine.serving([version("1", good: false)]) == 0, "the one whose error is told")
        #expect(machine.serving([]) == nil)
    }

    @Test("a plan that names a version lets no other version serve, even if the named version is missing")
    func aNamedVersionServesOrNobodyDoes() {
        var machine = Machine()
        _ = machine.handle(.put(Self.plan(serve: "2", candidate: nil), digests: [:]))
        #expect(machine.serving([version("1"), version("2", good: false), version("3")]) == 1)
        #expect(machine.serving([version("1"), version("3")]) == nil)
    }

    @Test("a candidate does not serve as the highest version, neither before nor after its roll-back")
    func aCandidateDoesNotServeUnasked() {
        var machine = Machine()
        _ = machine.handle(.put(Self.plan(serve: nil), digests: [:]))
        let versions = [version("1"), version("2"), version("3")]
        #expect(machine.serving(versions) == 1)
        _ = machine.handle(.candidateReturnedError(reason: "x", digest: "d3"))
        #expect(machine.serving(versions) == 1)
    }

    /// A rolled-back version is identified by its files: neither `DELETE` nor another version number readmits it, but a
    /// `PUT` that names it does.
    @Test("the files of a rolled-back version serve again only after a PUT that names the version")
    func aVersionThatWasRolledBackIsGoodAgainOnlyWhenAPutNamesIt() {
        var machine = Machine()
        _ = machine.handle(.put(Self.plan(serve: nil), digests: [:]))
        _ = machine.handle(.candidateReturnedError(reason: "x", digest: "d3"))
        _ = machine.handle(.delete)
        let versions = [version("1"), version("2"), version("3"), version("4", "d3")]
        #expect(machine.serving(versions) == 1)
        #expect(machine.serving([version("3", "new files")]) == 0)
        _ = machine.handle(.put(Self.plan(serve: "1", candidate: nil), digests: ["3": "d3", "1": "d1"]))
        #expect(machine.record.rolledBack == ["d3"], "another was named")
        _ = machine.handle(.put(Self.plan(serve: nil, candidate: "3"), digests: ["3": "d3"]))
        #expect(machine.record.rolledBack == [] && machine.state == .comparing)
    }

    @Test("only the newest 100 digests of rolled-back versions are remembered")
    func digestsThatAreRememberedAreBounded() {
        var machine = Machine()
        for number in 0..<300 {
            _ = machine.handle(.put(Self.plan(), digests: [:]))
            _ = machine.handle(.candidateReturnedError(reason: "x", digest: "\(number % 150)"))
        }
        #expect(machine.record.rolledBack.count == Machine.maximumRolledBack)
        #expect(machine.record.rolledBack.last == "149" && machine.record.rolledBack.first == "50")
    }

    // MARK: Restarts

    @Test("a rollout restored from its record is in the same state", arguments: Machine.State.allCases)
    func aRestartFindsTheSameState(_ state: Machine.State) {
        let machine = Self.machine(state)
        #expect(Machine(machine.record) == machine)
    }

    /// A record edited by hand is another rollout: the version in it identifies the candidate that was judged.
    @Test("another candidate in an edited record is compared anew; without a candidate the rollout ends")
    func anotherCandidateInTheFileIsComparedAnew() {
        for state in Machine.State.allCases {
            var record = Self.machine(state).record
            record.plan.candidate = RolloutPlan.Candidate(version: "4")
            let machine = Machine(record)
            #expect(machine.state == .comparing && machine.record.reason == nil && machine.record.judged == "4")
            record.plan.candidate = nil
            record.plan.serve = "1"
            #expect(Machine(record).state == .none)
        }
    }

    /// Random events, with a crash before or after each save: a rolled-back version never serves, the serving version
    /// changes only by a put, a delete or a promotion, and a process restored from the saved record is in the previous
    /// state.
    @Test("after random events and crashes, no rolled-back version serves and no saved state is lost")
    func randomSequences() throws {
        let seed = SplitMix.seed(for: "RolloutMachineTests.randomSequences")
        var random = SplitMix(seed: seed)
        for _ in 0..<2_000 {
            var machine = Machine(), saved = Machine().record
            for _ in 0..<30 {
                let versions = ["1", "2", "3", "4"].filter { _ in random.chance(80) }
                    .map { version($0, good: random.chance(80)) }
                let before = machine.serving(versions).map { versions[$0].number }
                let event = Self.event(&random, candidate: machine.plan.candidate?.version)
                let actions = machine.handle(event)
                if actions.contains(.save) {
                    let isCrash = random.chance(10)
                    // Either the old or the new record is on disk.
                    if !isCrash || random.chance(50) { saved = machine.record }
                    if isCrash {
                        let again = try Machine(Machine.Record(JSONTree.read(saved.text(), .json).value))
                        #expect(again == Machine(saved))
                        machine = again
                        continue
                    }
                }
                #expect(saved == machine.record, "everything that counts is saved; seed \(seed)")
                let after = machine.serving(versions).map { versions[$0].number }
                switch event {
                case .put, .delete: break
                case .decided(.agrees, _, _, _) where machine.state == .promoted: break
                default: #expect(before == after, "\(event); seed \(seed)")
                }
                if let after, machine.plan.serve == nil {
                    #expect(
                        !machine.record.rolledBack.contains("d\(after)") && machine.plan.candidate?.version != after)
                }
                #expect((machine.state == .comparing) == (machine.candidate != nil))
            }
        }
    }

    private static func event(_ random: inout SplitMix, candidate: String?) -> Machine.Event {
        let version = ["1", "2", "3", "4"].randomElement(using: &random)
        let other = ["1", "2", nil].randomElement(using: &random) ?? nil
        let digest = candidate.map { "d\($0)" }
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
            let candidate = version == other || random.chance(20) ? nil : version
            let plan = plan(serve: other, candidate: candidate, promote: random.chance(70))
            return .put(plan, digests: ["1": "d1", "2": "d2", "3": "d3", "4": "d4"])
        case 1: return .delete
        case 2: return .candidateLoaded
        case 3: return .candidateFailed(reason: "f")
        case 4: return .candidateReturnedError(reason: "e", digest: digest)
        case 5: return .measured(ratio: Double.random(in: 0.5...1.5, using: &random), digest: digest)
        default:
            return .decided(
                SequentialTest.Decision.allCases.randomElement(using: &random) ?? .notYet,
                compared: Int.random(in: 1...4_000, using: &random), agreement: 0.9, digest: digest)
        }
    }
}

/// A version of a model. Lists have the lowest version first.
private struct LoadedVersion {
    let number: String
    let digest: String?
    let isGood: Bool
}

extension RolloutMachine {
    /// The index of the version that answers: the highest working one that may serve.
    fileprivate func serving(_ versions: [LoadedVersion]) -> Int? {
        let allowed = versions.indices.filter { mayServe(versions[$0].number, digest: versions[$0].digest) }
        return allowed.last { versions[$0].isGood } ?? allowed.last
    }
}
