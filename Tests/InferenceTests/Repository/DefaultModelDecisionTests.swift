import Inference
internal import Repository
import Testing

/// The model for requests without a model name, decided from the properties of the versions.
@Suite struct DefaultModelDecisionTests {
    typealias Candidate = DefaultModel.Candidate

    private static let ready = Candidate(isReady: true, isDeclared: true)
    private static let awaited = Candidate(isDeclared: true, isExpected: true)
    private static let undetermined = Candidate(isUndetermined: true, isExpected: true)
    private static let failed = Candidate(isDeclared: true)
    private static let comingBack = Candidate(isDeclared: true, isRetrying: true)
    private static let undecided = Candidate(isReady: true, isDeclared: true, isUndecided: true)
    private static let other = Candidate()

    /// The decision, which must not depend on the order of the models.
    private func decide(
        _ purpose: DefaultModel.Purpose = .classification, configured: String = "", resolved: String? = nil,
        _ models: [String: Candidate]
    ) throws -> DefaultModel {
        let names = models.keys.sorted()
        let results = [names, names.reversed()].map { names in
            var decision = DefaultModel.Decision(purpose, configured: configured, resolved: resolved)
            for name in names { decision.consider(name, models[name] ?? Self.other) }
            return decision.result
        }
        #expect(results[0] == results[1])
        return try #require(results.first)
    }

    @Test("without settings the readiest model is the default, and among equals the first by name")
    func withoutSettings_theBestRankIsMeant_thenTheFirstByName() throws {
        let task = DefaultModel.Purpose.task(.detect)
        for purpose in [.classification, task] {
            #expect(try decide(purpose, [:]) == .none)
            #expect(try decide(purpose, ["a": Self.other]) == .none)
            #expect(try decide(purpose, ["a": Self.undecided, "b": Self.undecided]) == .undecided("a"))
            #expect(try decide(purpose, ["a": Self.undecided, "b": Self.failed]) == .model("b", isAvailable: false))
            #expect(try decide(purpose, ["a": Self.failed, "b": Self.awaited]) == .model("b", isAvailable: true))
            #expect(try decide(purpose, ["a": Self.awaited, "b": Self.ready]) == .model("b", isAvailable: true))
            #expect(try decide(purpose, ["b": Self.ready, "a": Self.ready]) == .model("a", isAvailable: true))
        }
        // The task of a lazy model without model.json is known only after loading; classifiers have files with labels.
        #expect(try decide(task, ["a": Self.undetermined, "b": Self.failed]) == .model("a", isAvailable: true))
        #expect(try decide(task, ["a": Self.undetermined, "b": Self.awaited]) == .model("b", isAvailable: true))
        #expect(try decide(.classification, ["a": Self.undetermined]) == .none)
    }

    @Test("a configured default classifier is used in whatever state, even if the model does not exist")
    func aConfiguredClassifier_isMeantWhateverItIs() throws {
        for candidate in [Self.ready, Self.failed, Self.undecided, Self.other] {
            #expect(
                try decide(configured: "b", ["a": Self.ready, "b": candidate]) == .model("b", isAvailable: true))
        }
        #expect(try decide(configured: "none", resolved: "a", ["a": Self.ready]) == .model("none", isAvailable: true))
    }

    @Test("a configured model is the default of its task; for another task, another model is chosen")
    func aConfiguredModel_standsBackForATaskThatItDoesNotDo() throws {
        let task = DefaultModel.Purpose.task(.embed)
        for candidate in [Self.ready, Self.failed, Self.undecided, Self.undetermined] {
            #expect(
                try decide(task, configured: "b", ["a": Self.ready, "b": candidate]) == .model("b", isAvailable: true))
        }
        #expect(
            try decide(task, configured: "b", ["a": Self.ready, "b": Self.other]) == .model("a", isAvailable: true))
    }

    @Test("a resolved default stays while ready, loadable or retried; otherwise a ready model takes over")
    func aSettledClassifier_staysAsLongAsItCanBeAsked() throws {
        for candidate in [Self.ready, Self.awaited, Self.comingBack] {
            #expect(try decide(resolved: "b", ["a": Self.ready, "b": candidate]) == .model("b", isAvailable: true))
        }
        for candidate in [Self.failed, Self.undecided, Self.other] {
            #expect(try decide(resolved: "b", ["a": Self.ready, "b": candidate]) == .model("a", isAvailable: true))
        }
        #expect(try decide(resolved: "b", ["b": Self.failed]) == .model("b", isAvailable: false))
    }
}
