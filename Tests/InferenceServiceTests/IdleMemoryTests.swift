import InferenceService
import SystemSupport
import Testing

/// The release of memory that is kept for later requests.
@Suite struct IdleMemoryTests {
    private func at(_ seconds: Double) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: 1_000_000_000_000) + .milliseconds(Int(seconds * 1000))
    }

    /// The decisions at some seconds, each with the second of the last activity.
    private func decisions(_ looks: [(activity: Double?, now: Double)]) -> [Bool] {
        var memory = IdleMemory()
        return looks.map { look in
            memory.shouldRelease(lastActivity: look.activity.map(at), now: at(look.now))
        }
    }

    @Test("memory is released once per idle period, and never while requests arrive")
    func onceInEachTimeOfRest() {
        #expect(decisions([(0, 5), (0, 10), (0, 600)]) == [false, true, false])
        // Requests without a pause.
        let busy = (0..<100).map { (activity: Double?(Double($0)), now: Double($0) + 0.5) }
        #expect(decisions(busy).allSatisfy { !$0 })
        #expect(decisions([(0, 10), (700, 709), (700, 711), (700, 800)]) == [true, false, true, false])
    }

    /// A model leaves memory behind when it is unloaded, too.
    @Test("memory is released once more after the last model is unloaded")
    func afterTheLastModelIsGone() {
        #expect(decisions([(0, 20), (nil, 30), (nil, 40)]) == [true, true, false])
    }
}
