import InferenceService
import Testing

/// Every event in every phase of the daemon's life.
@Suite struct LifecycleMachineTests {
    private typealias Event = LifecycleMachine.Event
    private typealias Action = LifecycleMachine.Action

    private func actions(_ events: [Event]) -> [[Action]] {
        var machine = LifecycleMachine()
        return events.map { machine.handle($0) }
    }

    @Test func anEasyLife() {
        let actions = actions([.started, .reload, .reloaded, .terminate, .drained(0)])
        #expect(actions == [[.announce], [.reload], [.announce], [.drain], [.end(0, isLoading: false)]])
    }

    @Test func reloadsThatAreAskedForDuringOneAreDoneOnceAfterIt() {
        let actions = actions([.started, .reload, .reload, .reload, .reloaded, .reloaded, .reload])
        #expect(actions == [[.announce], [.reload], [], [], [.announce, .reload], [.announce], [.reload]])
    }

    @Test func aReloadThatIsAskedForAtStartFollowsIt() {
        #expect(actions([.reload, .reload, .started, .reloaded]) == [[], [], [.announce, .reload], [.announce]])
    }

    @Test func theEndWaitsForNoLoad() {
        #expect(actions([.terminate, .drained(0)]) == [[.drain], [.end(0, isLoading: true)]])
        #expect(actions([.terminate, .started, .drained(0)]) == [[.drain], [], [.end(0, isLoading: false)]])
        let reloading = actions([.started, .reload, .reload, .terminate, .drained(3)])
        #expect(reloading == [[.announce], [.reload], [], [.drain], [.end(3, isLoading: true)]])
        let reloaded = actions([.started, .reload, .reload, .terminate, .reloaded, .reload, .drained(3)])
        #expect(reloaded == [[.announce], [.reload], [], [.drain], [], [], [.end(3, isLoading: false)]])
    }

    @Test func aSecondSignalEndsAtOnce() {
        #expect(actions([.started, .terminate, .terminate]) == [[.announce], [.drain], [.abort]])
        #expect(actions([.terminate, .terminate]) == [[.drain], [.abort]])
    }

    @Test func aFailureEndsWhereverItComesButInTheDrain() {
        #expect(actions([.failed("x")]) == [[.fail("x", isLoading: true)]])
        #expect(actions([.started, .failed("x")]) == [[.announce], [.fail("x", isLoading: false)]])
        #expect(
            actions([.started, .reload, .failed("x")]) == [[.announce], [.reload], [.fail("x", isLoading: true)]])
        let draining = actions([.started, .terminate, .failed("x"), .drained(0)])
        #expect(draining == [[.announce], [.drain], [], [.end(0, isLoading: false)]])
    }

    @Test(arguments: [Event.started, .reload, .reloaded, .terminate, .drained(0), .failed("x")])
    private func nothingHappensAfterTheEnd(_ event: Event) {
        #expect(actions([.started, .terminate, .drained(0), event]).last == [])
        #expect(actions([.started, .failed("x"), event]).last == [])
        #expect(actions([.started, .terminate, .terminate, event]).last == [])
    }
}
