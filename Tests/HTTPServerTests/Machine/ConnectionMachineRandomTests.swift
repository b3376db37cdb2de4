import HTTPServer
import TestSupport
import Testing

@Suite("The connection state machine with random events")
struct ConnectionMachineRandomTests {
    /// Invariants for any sequence of events: a closed connection stays closed, a connection that waits for the client
    /// has a deadline, and nothing traps.
    @Test(
        "random events never reopen a closed connection nor leave a waiting connection without deadline",
        arguments: [UInt64.random(in: 0...UInt64.max), 1, 2])
    func invariants(seed: UInt64) {
        var random = SplitMix(seed: seed)
        for _ in 0..<3_000 {
            var script = MachineScript()
            var closed = false
            for _ in 0..<40 {
                let event = Self.event(&random)
                let outcome = script.apply(event)
                if closed { #expect(outcome.phase == .closed, "seed \(seed)") }
                // The owner sends nothing on a closed connection.
                if case .close = outcome.action { closed = true }
                switch outcome.phase {
                // In `closing` the loop measures the socket instead.
                case .handling, .closing, .closed: break
                default: #expect(script.machine.deadline != nil, "seed \(seed), \(outcome)")
                }
                if closed { break }
            }
        }
    }

    private static func event(_ random: inout SplitMix) -> MachineScript.Event {
        let traits = RequestTraits(
            isHead: .random(using: &random), isHTTP10: .random(using: &random), keepAlive: .random(using: &random),
            expectsContinue: .random(using: &random),
            bodyLength: [nil, 0, 10, 2000, UInt64.max].randomElement(using: &random) ?? nil)
        let events: [MachineScript.Event] = [
            .pass(.random(in: 0...80, using: &random)), .start, .accept(traits), .refuse(traits),
            .body(.random(in: 0...UInt64.max, using: &random)), .body(10), .evict,
            .body(1, announced: .random(in: 0...2000, using: &random)), .headFault(isHead: .random(using: &random)),
            .bodyEnd, .noBudget, .budget,
            .answer(close: .random(using: &random)), .answerFault, .blocked, .sent,
            .discard(.random(in: 0...100, using: &random), ended: .random(using: &random)),
            .fin(unread: .random(using: &random)), .reset, .timer,
            .drain,
        ]
        return events.randomElement(using: &random) ?? .timer
    }
}
