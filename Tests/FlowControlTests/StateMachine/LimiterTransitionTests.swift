import FlowControl
import Testing

/// Every event in every state of the diagram at `LimiterStateMachine`: the next state, and the waits that end.
///
/// The machine has a limit of 2 and a queue of 2. `a` and `b` hold the slots, `c` and `d` wait.
@Suite struct LimiterTransitionTests {
    enum State: String, CaseIterable {
        case idle, running, full, queueing, crowded, draining, drainingQueue, drained
    }

    enum Event: String, CaseIterable {
        case arrive, arriveTooLate, arriveHurried, tryArrive, finish, cancel, expire, timerEarly, timerStale
        case raise, lower, shrinkQueue, drain, drainAll
    }

    private static func bench(in state: State, policy: OverloadPolicy) -> Bench {
        var bench = Bench(limit: 2, queue: 2, policy: policy, service: .seconds(1))
        let holders: String =
            switch state {
            case .idle, .drained: ""
            case .running: "a"
            case .full, .queueing, .crowded, .draining, .drainingQueue: "ab"
            }
        let waiters: String =
            switch state {
            case .queueing: "c"
            case .crowded, .drainingQueue: "cd"
            default: ""
            }
        for name in holders + waiters { bench.arrive(name) }
        if state == .draining || state == .drainingQueue || state == .drained { bench.drain() }
        return bench
    }

    /// The state, derived from the machine's numbers.
    private static func state(of bench: Bench) -> State? {
        let machine = bench.machine
        switch (machine.isDraining, machine.inFlight, machine.waiting) {
        case (true, _, _) where machine.isDrained: return bench.isDrained ? .drained : nil
        case (true, _, 0): return .draining
        case (true, _, _): return .drainingQueue
        case (false, 0, 0): return .idle
        case (false, _, 0): return machine.inFlight < machine.configuration.limit ? .running : .full
        case (false, _, _): return machine.waiting < machine.configuration.queueCapacity ? .queueing : .crowded
        }
    }

    /// Applies the event; returns its outcomes in words.
    private static func apply(_ event: Event, to bench: inout Bench) -> [String] {
        func arrive(deadline: Duration?) -> String {
            switch bench.arrive("x", deadline: deadline) {
            case .admitted: "x admitted"
            case .waiting: "x waits"
            case .refused(let error): "x \(error.label)"
            }
        }
        let holder: Character? = bench.grants.keys.min()
        let waiter: Character? = bench.tickets.keys.min()
        var said: [String] = []
        switch event {
        case .arrive: said = [arrive(deadline: nil)]
        case .arriveTooLate: said = [arrive(deadline: .zero)]
        case .arriveHurried: said = [arrive(deadline: .milliseconds(1200))]
        case .tryArrive: said = [bench.tryArrive("x") ? "x admitted" : "nothing"]
        case .finish: if let holder { bench.finish(holder) } else { return ["-"] }
        case .cancel: if let waiter { bench.cancel(waiter) } else { return ["-"] }
        case .expire: bench.pass(.seconds(11))
        case .timerEarly: if let timer = bench.timer { bench.fire(timer) } else { return ["-"] }
        case .timerStale: bench.fire(TimerRequest(at: bench.now, epoch: 0))
        case .raise: bench.resize(limit: 3)
        case .lower: bench.resize(limit: 1)
        case .shrinkQueue: bench.resize(queue: 1)
        case .drain: bench.drain()
        case .drainAll: bench.drain(refusingWaiters: true)
        }
        return said + bench.endings
    }

    /// `event: next state, outcomes` for each state; "-" for impossible events.
    private static let table: [State: String] = [
        .idle: """
        arrive: running, x admitted
        arriveTooLate: idle, x deadline_exceeded
        arriveHurried: running, x admitted
        tryArrive: running, x admitted
        finish: -
        cancel: -
        expire: idle
        timerEarly: -
        timerStale: idle
        raise: idle
        lower: idle
        shrinkQueue: idle
        drain: drained
        drainAll: drained
        """,
        .running: """
        arrive: full, x admitted
        arriveTooLate: running, x deadline_exceeded
        arriveHurried: full, x admitted
        tryArrive: full, x admitted
        finish: idle
        cancel: -
        expire: running
        timerEarly: -
        timerStale: running
        raise: running
        lower: full
        shrinkQueue: running
        drain: draining
        drainAll: draining
        """,
        .full: """
        arrive: queueing, x waits
        arriveTooLate: full, x deadline_exceeded
        arriveHurried: full, x deadline_unreachable
        tryArrive: full, nothing
        finish: running
        cancel: -
        expire: full
        timerEarly: -
        timerStale: full
        raise: running
        lower: full
        shrinkQueue: full
        drain: draining
        drainAll: draining
        """,
        .queueing: """
        arrive: crowded, x waits
        arriveTooLate: queueing, x deadline_exceeded
        arriveHurried: queueing, x deadline_unreachable
        tryArrive: queueing, nothing
        finish: full, c granted
        cancel: full, c cancelled
        expire: full, c wait_timed_out
        timerEarly: queueing
        timerStale: queueing
        raise: full, c granted
        lower: queueing
        shrinkQueue: crowded
        drain: drainingQueue
        drainAll: draining, c draining
        """,
        .crowded: """
        arrive: crowded, x queue_full
        arriveTooLate: crowded, x deadline_exceeded
        arriveHurried: crowded, x queue_full
        tryArrive: crowded, nothing
        finish: queueing, c granted
        cancel: queueing, c cancelled
        expire: full, c wait_timed_out, d wait_timed_out
        timerEarly: crowded
        timerStale: crowded
        raise: queueing, c granted
        lower: crowded
        shrinkQueue: crowded, d displaced
        drain: drainingQueue
        drainAll: draining, c draining, d draining
        """,
        .draining: """
        arrive: draining, x draining
        arriveTooLate: draining, x draining
        arriveHurried: draining, x draining
        tryArrive: draining, nothing
        finish: draining
        cancel: -
        expire: draining
        timerEarly: -
        timerStale: draining
        raise: draining
        lower: draining
        shrinkQueue: draining
        drain: draining
        drainAll: draining
        """,
        .drainingQueue: """
        arrive: drainingQueue, x draining
        arriveTooLate: drainingQueue, x draining
        arriveHurried: drainingQueue, x draining
        tryArrive: drainingQueue, nothing
        finish: drainingQueue, c granted
        cancel: drainingQueue, c cancelled
        expire: draining, c wait_timed_out, d wait_timed_out
        timerEarly: drainingQueue
        timerStale: drainingQueue
        raise: drainingQueue, c granted
        lower: drainingQueue
        shrinkQueue: drainingQueue, d displaced
        drain: drainingQueue
        drainAll: draining, c draining, d draining
        """,
        .drained: """
        arrive: drained, x draining
        arriveTooLate: drained, x draining
        arriveHurried: drained, x draining
        tryArrive: drained, nothing
        finish: -
        cancel: -
        expire: drained
        timerEarly: -
        timerStale: drained
        raise: drained
        lower: drained
        shrinkQueue: drained
        drain: drained
        drainAll: drained
        """,
    ]

    @Test(
        "under defer every event in every state leads to the state and outcome of the table",
        arguments: State.allCases)
    func everyEventUnderDefer(from state: State) {
        var found: [String] = []
        for event in Event.allCases {
            var bench = Self.bench(in: state, policy: .defer)
            #expect(Self.state(of: bench) == state)
            let said = Self.apply(event, to: &bench)
            let next = Self.state(of: bench)?.rawValue ?? "inconsistent"
            found.append("\(event): " + (said == ["-"] ? "-" : ([next] + said).joined(separator: ", ")))
        }
        #expect(found.joined(separator: "\n") == Self.table[state])
    }

    /// The rows that differ under another policy.
    @Test(
        "under dropNewest and dropOldest events lead to the expected states and outcomes",
        arguments: [
            (OverloadPolicy.dropNewest, State.full, Event.arrive, "full, x queue_full"),
            (.dropNewest, .full, .arriveHurried, "full, x queue_full"),
            (.dropOldest, .crowded, .arrive, "crowded, x waits, c displaced"),
            (.dropOldest, .crowded, .arriveHurried, "crowded, x deadline_unreachable"),
            (.dropOldest, .crowded, .shrinkQueue, "crowded, c displaced"),
            (.dropOldest, .queueing, .arrive, "crowded, x waits"),
            (.dropOldest, .drainingQueue, .arrive, "drainingQueue, x draining"),
        ])
    func everyEvent_underDropPolicies_leadsToTheExpectedState(
        policy: OverloadPolicy, state: State, event: Event, expected: String
    ) {
        var bench = Self.bench(in: state, policy: policy)
        let said = Self.apply(event, to: &bench)
        let next = Self.state(of: bench)?.rawValue ?? "inconsistent"
        #expect(([next] + said).joined(separator: ", ") == expected)
    }

    @Test("the release of the last slot completes a drain, after all waiters are served")
    func theLastFinishCompletesADrain() {
        var bench = Self.bench(in: .drainingQueue, policy: .defer)
        for name in "abcd" {
            #expect(!bench.isDrained)
            bench.finish(name)
        }
        #expect(bench.isDrained)
        #expect(bench.endings == ["c granted", "d granted"])
    }

    @Test("a drain may refuse the remaining waiters later")
    func aDrainMayRefuseTheWaitersLater() {
        var bench = Self.bench(in: .crowded, policy: .defer)
        bench.drain()
        bench.finish("a")
        bench.drain(refusingWaiters: true)
        #expect(bench.endings == ["c granted", "d draining"])
        bench.finish("b")
        bench.finish("c")
        #expect(bench.isDrained)
    }

    @Test("switching to dropNewest displaces all waiters")
    func switchingToDropNewestEmptiesTheQueue() {
        var bench = Self.bench(in: .crowded, policy: .defer)
        bench.resize(policy: .dropNewest)
        #expect(bench.endings == ["d displaced", "c displaced"])
    }
}
