import HTTPServer

/// A connection machine with its own clock, in seconds, and short names for the events.
struct MachineScript {
    var policy: ConnectionPolicy
    var machine: ConnectionMachine
    private var now: UInt64 = 0

    init(_ change: (inout HTTPServerConfiguration) -> Void = { _ in }) {
        var configuration = HTTPServerConfiguration()
        change(&configuration)
        policy = ConnectionPolicy(configuration)
        machine = ConnectionMachine(policy: policy, now: 0)
    }

    enum Event: Sendable {
        /// The clock advances by this many seconds.
        case pass(UInt64)
        case start
        case accept(RequestTraits, maxBody: UInt64 = 1000, buffered: Bool = false)
        case refuse(RequestTraits, maxBody: UInt64 = 20 << 20, buffered: Bool = false)
        case headFault(isHead: Bool)
        case body(UInt64, announced: UInt64 = 0)
        case evict
        case bodyEnd
        case noBudget
        case budget
        /// An answer of the handler or of the application; `close` asks to close the connection.
        case answer(close: Bool = false, draining: Bool = false)
        /// The answer to a fault.
        case answerFault
        case blocked
        case sent
        case discard(UInt64, ended: Bool = false)
        case fin(unread: Bool = false)
        case reset
        case timer
        case drain
    }

    /// The result of an event.
    struct Outcome: Equatable {
        var action: ConnectionAction?
        var plan: AnswerPlan?
        var phase: ConnectionMachine.Phase
    }

    mutating func apply(_ event: Event) -> Outcome {
        var action: ConnectionAction?
        var plan: AnswerPlan?
        switch event {
        case .pass(let seconds): now += seconds * 1_000_000_000
        case .start: machine.headStarted(policy: policy, now: now)
        case .accept(let traits, let maxBody, let buffered):
            action = machine.headAccepted(traits, maxBody: maxBody, buffered: buffered, policy: policy, now: now)
        case .refuse(let traits, let maxBody, let buffered):
            machine.headRefused(traits, maxBody: maxBody, buffered: buffered)
        case .headFault(let isHead): machine.headFailed(isHead: isHead)
        case .body(let count, let announced): action = machine.bodyReceived(count, announced: announced)
        case .evict: action = machine.bodyEvicted()
        case .bodyEnd: action = machine.bodyEnded()
        case .noBudget: machine.budgetExhausted(policy: policy, now: now)
        case .budget: action = machine.budgetFreed(policy: policy, now: now)
        case .answer(let close, let draining):
            plan = machine.answered(wantsClose: close, fault: false, draining: draining, policy: policy, now: now)
        case .answerFault:
            plan = machine.answered(wantsClose: true, fault: true, draining: true, policy: policy, now: now)
        case .blocked: machine.outputBlocked(policy: policy, now: now)
        case .sent: action = machine.answerSent(policy: policy, now: now)
        case .discard(let count, let ended): action = machine.discarded(count, ended: ended, policy: policy, now: now)
        case .fin(let unread): action = machine.peerEnded(unread: unread, policy: policy, now: now)
        case .reset: action = machine.peerVanished()
        case .timer: action = machine.timerFired(policy: policy, now: now)
        case .drain: action = machine.drain(policy: policy, now: now)
        }
        return Outcome(action: action, plan: plan, phase: machine.phase)
    }

    /// Applies all events and returns the result of the last one.
    mutating func run(_ events: [Event]) -> Outcome {
        var outcome = Outcome(phase: machine.phase)
        for event in events { outcome = apply(event) }
        return outcome
    }
}
