import FlowControl
import SystemSupport
import Testing

/// A state machine with its clock and letters as waiters, for tests with one line for each event.
struct Bench {
    typealias Machine = LimiterStateMachine<Character>

    /// The outcome of an arrival, without details that tests rarely need.
    enum Came: Equatable {
        case admitted
        case waiting
        case refused(AdmissionError)
    }

    private(set) var machine: Machine
    private(set) var now = MonotonicInstant(nanoseconds: 1_000_000_000)
    private(set) var grants: [Character: Grant] = [:]
    private(set) var tickets: [Character: WaiterTicket] = [:]
    private(set) var timer: TimerRequest?
    private(set) var isDrained = false
    /// Waits that ended since this was last emptied, in order.
    var ended: [(Character, WaitOutcome)] = []

    init(
        limit: Int = 1, queue: Int = 2, wait: Duration = .seconds(10), policy: OverloadPolicy = .defer,
        service: Duration = .zero
    ) {
        machine = Machine(
            configuration: LimiterConfiguration(
                limit: limit, queueCapacity: queue, maxWait: wait, policy: policy, expectedServiceTime: service))
    }

    /// The names and outcomes of the requests that no longer wait.
    var endings: [String] {
        ended.map { name, outcome in
            switch outcome {
            case .success: "\(name) granted"
            case .failure(let error): "\(name) \(error.label)"
            }
        }
    }

    /// A request arrives; if it must wait, it is suspended unless `asleep` is false.
    @discardableResult
    mutating func arrive(_ name: Character, deadline: Duration? = nil, asleep: Bool = true) -> Came {
        let (arrival, effects) = machine.arrive(at: now, deadline: deadline.map { now + $0 })
        note(effects)
        switch arrival {
        case .admitted(let grant):
            grants[name] = grant
            return .admitted
        case .refused(let error):
            return .refused(error)
        case .waiting(let ticket):
            tickets[name] = ticket
            if asleep { suspend(name) }
            return .waiting
        }
    }

    /// Suspends a waiter; returns the outcome if the wait is over already.
    @discardableResult
    mutating func suspend(_ name: Character) -> WaitOutcome? {
        guard let ticket = tickets[name], let outcome = machine.suspend(ticket, as: name) else { return nil }
        end(name, outcome)
        return outcome
    }

    mutating func tryArrive(_ name: Character) -> Bool {
        grants[name] = machine.tryArrive(at: now)
        check()
        return grants[name] != nil
    }

    mutating func finish(_ name: Character) {
        guard let grant = grants.removeValue(forKey: name) else {
            Issue.record("\(name) holds no slot")
            return
        }
        note(machine.finish(grant, at: now))
    }

    mutating func cancel(_ name: Character) {
        guard let ticket = tickets[name] else {
            Issue.record("\(name) never waited")
            return
        }
        note(machine.cancel(ticket, at: now))
    }

    /// Advances time, and fires the timer if it is due.
    mutating func pass(_ duration: Duration) {
        now = now + duration
        while let due = timer, due.at <= now { fire(due) }
    }

    /// Advances time without the timer, which is late.
    mutating func passSilently(_ duration: Duration) {
        now = now + duration
    }

    mutating func fire(_ request: TimerRequest) {
        if timer == request { timer = nil }
        note(machine.timerFired(epoch: request.epoch, at: now))
    }

    mutating func resize(
        limit: Int? = nil, queue: Int? = nil, wait: Duration? = nil, policy: OverloadPolicy? = nil
    ) {
        let old = machine.configuration
        let new = LimiterConfiguration(
            limit: limit ?? old.limit, queueCapacity: queue ?? old.queueCapacity, maxWait: wait ?? old.maxWait,
            policy: policy ?? old.policy)
        note(machine.resize(to: new, at: now))
    }

    mutating func drain(refusingWaiters: Bool = false) {
        note(machine.beginDraining(refusingWaiters: refusingWaiters, at: now))
    }

    private mutating func note(_ effects: LimiterEffects<Character>) {
        for (name, outcome) in effects.resume { end(name, outcome) }
        if let request = effects.timer { timer = request }
        if effects.drained {
            #expect(!isDrained, "drained twice")
            isDrained = true
        }
        check()
    }

    private mutating func end(_ name: Character, _ outcome: WaitOutcome) {
        if case .success(let grant) = outcome { grants[name] = grant }
        ended.append((name, outcome))
    }

    private func check() {
        let violation = machine.invariantViolation(at: now)
        #expect(violation == nil)
    }
}
