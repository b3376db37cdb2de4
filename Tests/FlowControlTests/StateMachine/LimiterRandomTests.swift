import FlowControl
import TestSupport
import Testing

/// Random sequences of all events of a limiter, compared with a simple model.
@Suite struct LimiterRandomTests {
    @Test("random interleavings of events keep the limiter's invariants")
    func randomInterleavingsKeepTheInvariants() {
        let seed = SplitMix.seed(for: "randomInterleavingsKeepTheInvariants")
        var seeds = SplitMix(seed: seed)
        var events = 0
        for interleaving in 0..<LongTests.times(5_000, long: 100_000) {
            let own = seeds.next()
            // Mostly short, for many beginnings; some long, so that entries and epochs are reused often.
            let length = interleaving % 1000 == 0 ? 2000 : Int.random(in: 4...20, using: &seeds)
            events += length
            guard Self.interleaving(seed: own, length: length).problem != nil else { continue }
            let reported = Self.interleaving(seed: own, length: length, telling: true)
            let story = (reported.story ?? []).suffix(30).joined(separator: "\n")
            Issue.record("seed \(seed), interleaving \(interleaving): \(reported.problem ?? "none")\n\(story)")
            return
        }
        print("randomInterleavingsKeepTheInvariants: \(events) events")
    }

    private static func interleaving(seed: UInt64, length: Int, telling: Bool = false) -> RandomRun {
        var run = RandomRun(seed: seed, telling: telling)
        for index in 0..<length where run.problem == nil { run.step(mayDrain: index > length / 2) }
        run.wind()
        return run
    }
}
