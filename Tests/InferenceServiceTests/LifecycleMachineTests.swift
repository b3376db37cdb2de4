import InferenceService
import SystemSupport
import Testing

/// Every event in every phase of the daemon's life cycle.
@Suite struct LifecycleMachineTests {
    private typealias Event = LifecycleMachine.Event
    private typealias Action = LifecycleMachine.Action
    private static let terminate = signal(.terminate, at: 0)
    private static let again = signal(.terminate, at: 1)

    private static func signal(_ signal: SignalReader.Signal, at seconds: UInt64) -> Event {
        .terminate(signal, at: MonotonicInstant(nanoseconds: seconds * 1_000_000_000))
    }

    private func actions(_ events: [Event]) -> [[Action]] {
        var machine = LifecycleMachine()
        return events.map { machine.handle($0) }
    }

    @Test("the same signal within a second counts once; another signal or a later repeat aborts")
    func aSignalThatComesTwiceWithinASecondIsOne() {
        let again = MonotonicInstant(nanoseconds: 999_999_999)
        #expect(actions([Self.terminate, .terminate(.terminate, at: again)]) == [[.drain], []])
        #expect(
            actions([Self.terminate, .terminate(.terminate, at: again), Self.again]) == [[.drain], [], [.abort]])
        #expect(actions([Self.terminate, .terminate(.interrupt, at: again)]) == [[.drain], [.abort]])
    }

    @Test("start, reload and termination lead to announce, reload, drain and end")
    func anEasyLife() {
        let actions = actions([.started, .reload(.everything), .reloaded, Self.terminate, .drained(0)])
        #expect(actions == [[.announce], [.reload(.everything)], [.announce], [.drain], [.end(0, isLoading: false)]])
    }

    @Test("reloads requested during a reload run once, after the running reload")
    func reloadsThatAreAskedForDuringOneAreDoneOnceAfterIt() {
        let actions = actions([
            .started, .reload(.everything), .reload(.everything), .reload(.everything), .reloaded, .reloaded,
            .reload(.everything),
        ])
        #expect(
            actions == [
                [.announce], [.reload(.everything)], [], [], [.announce, .reload(.everything)], [.announce],
                [.reload(.everything)],
            ])
    }

    @Test("reloads requested during startup run once after startup")
    func aReloadThatIsAskedForAtStartFollowsIt() {
        #expect(
            actions([.reload(.everything), .reload(.everything), .started, .reloaded]) == [
                [], [], [.announce, .reload(.everything)], [.announce],
            ])
    }

    @Test("the end of draining ends the server even while models load or reload")
    func theEndWaitsForNoLoad() {
        #expect(actions([Self.terminate, .drained(0)]) == [[.drain], [.end(0, isLoading: true)]])
        #expect(actions([Self.terminate, .started, .drained(0)]) == [[.drain], [], [.end(0, isLoading: false)]])
        let reloading = actions([.started, .reload(.everything), .reload(.everything), Self.terminate, .drained(3)])
        #expect(reloading == [[.announce], [.reload(.everything)], [], [.drain], [.end(3, isLoading: true)]])
        let reloaded = actions([
            .started, .reload(.everything), .reload(.everything), Self.terminate, .reloaded, .reload(.everything),
            .drained(3),
        ])
        #expect(reloaded == [[.announce], [.reload(.everything)], [], [.drain], [], [], [.end(3, isLoading: false)]])
    }

    @Test("pending reloads of two scopes run one after the other")
    func reloadsOfTwoScopesFollowOneAnother() {
        let actions = actions([
            .started, .reload(.changedModels), .reload(.limits), .reload(.changedModels), .reload(.limits), .reloaded,
            .reloaded, .reloaded,
        ])
        #expect(
            actions == [
                [.announce], [.reload(.changedModels)], [], [], [], [.announce, .reload(.limits)],
                [.announce, .reload(.changedModels)], [.announce],
            ])
    }

    @Test("a pending full reload covers pending model reloads; a running full reload does not")
    func aReloadOfEverythingCoversTheChangedModels() {
        let models = LifecycleMachine.Scope.changedModels
        #expect(actions([.started, .reload(models)]) == [[.announce], [.reload(models)]])
        let during = actions([
            .started, .reload(.everything), .reload(models), .reload(.everything), .reload(models), .reloaded,
            .reloaded,
        ])
        #expect(
            during == [
                [.announce], [.reload(.everything)], [], [], [], [.announce, .reload(.everything)], [.announce],
            ])
        // Changes after the full reload has read the files need another reload.
        let after = actions([.started, .reload(.everything), .reload(models), .reloaded])
        #expect(after == [[.announce], [.reload(.everything)], [], [.announce, .reload(models)]])
    }

    @Test("a second termination signal during draining aborts at once")
    func aSecondSignalEndsAtOnce() {
        #expect(actions([.started, Self.terminate, Self.again]) == [[.announce], [.drain], [.abort]])
        #expect(actions([Self.terminate, Self.again]) == [[.drain], [.abort]])
    }

    @Test("a failure ends the server in any phase except draining")
    func aFailureEndsWhereverItComesButInTheDrain() {
        #expect(actions([.failed("x")]) == [[.fail("x", isLoading: true)]])
        #expect(actions([.started, .failed("x")]) == [[.announce], [.fail("x", isLoading: false)]])
        #expect(
            actions([.started, .reload(.everything), .failed("x")]) == [
                [.announce], [.reload(.everything)], [.fail("x", isLoading: true)],
            ])
        let draining = actions([.started, Self.terminate, .failed("x"), .drained(0)])
        #expect(draining == [[.announce], [.drain], [], [.end(0, isLoading: false)]])
    }

    @Test(
        "no event causes an action after the end",
        arguments: [Event.started, .reload(.everything), .reloaded, terminate, .drained(0), .failed("x")])
    private func nothingHappensAfterTheEnd(_ event: Event) {
        #expect(actions([.started, Self.terminate, .drained(0), event]).last == [])
        #expect(actions([.started, .failed("x"), event]).last == [])
        #expect(actions([.started, Self.terminate, Self.again, event]).last == [])
    }
}
