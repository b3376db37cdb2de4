import SystemSupport
import TestSupport
import FlowControl

/// The reference model: plain arrays with linear searches.
struct SlowAccount {
    struct Waiter {
        let id: Int
        let ticket: WaiterTicket
        let came: MonotonicInstant
        let expiry: MonotonicInstant
        let error: AdmissionError?
        var isAsleep: Bool
    }

    var waiters: [Waiter] = []
    var held: [Int: Grant] = [:]
    /// Waiters with an outcome from before their suspension.
    var due: [(waiter: Waiter, outcome: WaitOutcome)] = []
}

/// A limiter with random events, each checked against the reference model.
struct RandomRun {
    typealias Machine = LimiterStateMachine<Int>

    var random: SplitMix
    var machine: Machine
    var account = SlowAccount()
    var now = MonotonicInstant(nanoseconds: 5_000)
    var timer: TimerRequest?
    var lastID = 0
    var drains = 0
    var problem: String?
    /// The events so far; nil unless requested, because it is expensive.
    var story: [String]?

    init(seed: UInt64, telling: Bool = false) {
        random = SplitMix(seed: seed)
        story = telling ? [] : nil
        machine = Machine(configuration: Self.configuration(&random))
    }

    static func configuration(_ random: inout SplitMix) -> LimiterConfiguration {
        LimiterConfiguration(
            limit: Int.random(in: 1...4, using: &random),
            queueCapacity: Int.random(in: 0...6, using: &random),
            maxWait: .nanoseconds(Int.random(in: 0...400, using: &random)),
            policy: OverloadPolicy.allCases.randomElement(using: &random) ?? .defer,
            expectedServiceTime: .nanoseconds(Int.random(in: 0...50, using: &random)))
    }

    mutating func fail(_ text: String) {
        if problem == nil { problem = text }
    }

    mutating func step(mayDrain: Bool) {
        now = now + .nanoseconds(random.chance(60) ? 0 : Int.random(in: 0...60, using: &random))
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<38: arrive()
        case 38..<44: tryArrive()
        case 44..<64: finish()
        case 64..<74: cancel()
        case 74..<84: sleep()
        case 84..<93: fireTimer()
        case 93..<97: resize()
        case 97..<99 where mayDrain: drain()
        default: fireStaleTimer()
        }
        check()
    }

    // MARK: Events

    mutating func arrive() {
        let deadline =
            random.chance(50) ? nil : now + .nanoseconds(Int.random(in: -20...300, using: &random))
        var other = machine
        let look = other.announce(at: now, deadline: deadline).0
        let hadExpired = account.waiters.contains { $0.expiry <= now }
        let before = machine.inFlight
        lastID += 1
        let (arrival, effects) = machine.arrive(at: now, deadline: deadline)
        if story != nil {
            story?.append("\(now.nanoseconds) arrive \(lastID) by \(String(describing: deadline)): \(arrival)")
        }
        var ended = expired()
        if case .waiting = arrival, account.waiters.count == machine.configuration.queueCapacity {
            if machine.configuration.policy != .dropOldest { fail("made to wait in a full queue") }
            let oldest = account.waiters.removeFirst()
            ended.append((oldest, .failure(.displaced(predictedWait: .zero))))
        }
        expect(effects, ended)
        switch arrival {
        case .admitted(let grant):
            if before >= machine.configuration.limit { fail("admitted over the limit") }
            account.held[lastID] = grant
        case .refused(let error):
            if look?.label != error.label, !hadExpired {
                fail("the look said \(String(describing: look)), not \(error)")
            }
        case .waiting(let ticket):
            if before < machine.configuration.limit { fail("made to wait beside a free slot") }
            let patience = now + machine.configuration.maxWait
            let byDeadline = deadline.map { $0 < patience } ?? false
            account.waiters.append(
                SlowAccount.Waiter(
                    id: lastID, ticket: ticket, came: now, expiry: min(patience, deadline ?? patience),
                    error: byDeadline ? .deadlineExceeded : nil, isAsleep: false))
            if random.chance(80) { sleep(lastID) }
        }
    }

    mutating func tryArrive() {
        let free = machine.inFlight < machine.configuration.limit && !machine.isDraining
        lastID += 1
        let grant = machine.tryArrive(at: now)
        if (grant != nil) != free { fail("tryArrive does not agree with the slots") }
        account.held[lastID] = grant
    }

    mutating func finish() {
        guard let id = account.held.keys.sorted().randomElement(using: &random),
            let grant = account.held.removeValue(forKey: id)
        else { return }
        if story != nil { story?.append("\(now.nanoseconds) finish \(id)") }
        settle(machine.finish(grant, at: now))
    }

    mutating func cancel() {
        // A waiter, or sometimes one with an outcome: its ticket must be invalid.
        let over = account.due.map(\.waiter)
        guard let waiter = (account.waiters + over).randomElement(using: &random) else { return }
        if story != nil { story?.append("\(now.nanoseconds) cancel \(waiter.id)") }
        let effects = machine.cancel(waiter.ticket, at: now)
        if let index = account.waiters.firstIndex(where: { $0.id == waiter.id }) {
            account.waiters.remove(at: index)
            expect(effects, [(waiter, .failure(.cancelled))])
        } else {
            expect(effects, [])
        }
        if effects.timer != nil || effects.drained { fail("a cancellation did more than cancel") }
    }

    mutating func sleep() {
        let awake = account.waiters.filter { !$0.isAsleep }.map(\.id) + account.due.map(\.waiter.id)
        if let id = awake.randomElement(using: &random) { sleep(id) }
    }

    mutating func sleep(_ id: Int) {
        if let index = account.due.firstIndex(where: { $0.waiter.id == id }) {
            let (waiter, outcome) = account.due.remove(at: index)
            let found = machine.suspend(waiter.ticket, as: id).map(Self.simplified)
            if found != Self.simplified(outcome) {
                fail("\(id) found \(String(describing: found)), not \(outcome)")
            }
            if case .success(let grant) = outcome { account.held[id] = grant }
        } else if let index = account.waiters.firstIndex(where: { $0.id == id }) {
            account.waiters[index].isAsleep = true
            if machine.suspend(account.waiters[index].ticket, as: id) != nil { fail("\(id) cannot sleep") }
        }
    }

    mutating func fireTimer() {
        guard let request = timer else { return }
        if random.chance(50) { now = max(now, request.at) }
        if story != nil { story?.append("\(now.nanoseconds) timer \(request.epoch)") }
        timer = nil
        settle(machine.timerFired(epoch: request.epoch, at: now))
    }

    mutating func fireStaleTimer() {
        guard let epoch = timer?.epoch, epoch > 1 else { return }
        let effects = machine.timerFired(epoch: epoch - 1, at: now)
        expect(effects, [])
    }

    mutating func resize() {
        let new = Self.configuration(&random)
        if story != nil { story?.append("\(now.nanoseconds) resize \(new)") }
        let effects = machine.resize(to: new, at: now)
        var ended = expired()
        ended += granted(free: new.limit - account.held.count - grantedButAwake)
        let survivors = max(0, new.effectiveCapacity)
        while account.waiters.count > survivors {
            let waiter = new.policy == .dropOldest ? account.waiters.removeFirst() : account.waiters.removeLast()
            ended.append((waiter, .failure(.displaced(predictedWait: .zero))))
        }
        expect(effects, ended)
    }

    mutating func drain() {
        let refusing = random.chance(30)
        if story != nil { story?.append("\(now.nanoseconds) drain, refusing: \(refusing)") }
        let effects = machine.beginDraining(refusingWaiters: refusing, at: now)
        var ended = expired()
        if refusing {
            ended += account.waiters.map { ($0, .failure(.draining)) }
            account.waiters = []
        }
        expect(effects, ended)
    }

    // MARK: Expected outcomes

    typealias Ending = (waiter: SlowAccount.Waiter, outcome: WaitOutcome)

    var grantedButAwake: Int {
        account.due.count { if case .success = $0.outcome { true } else { false } }
    }

    /// The expired waiters, which leave before any other event: the earliest first.
    mutating func expired() -> [Ending] {
        let out = account.waiters.filter { $0.expiry <= now }
        account.waiters.removeAll { $0.expiry <= now }
        return out.map { waiter in
            (waiter, .failure(waiter.error ?? .waitTimedOut(now - waiter.came)))
        }
    }

    /// The oldest waiters, as many as there are free slots.
    mutating func granted(free: Int) -> [Ending] {
        let lucky = account.waiters.prefix(max(0, free))
        account.waiters.removeFirst(lucky.count)
        return lucky.map { waiter in
            let waited = UInt64((now - waiter.came).saturatedNanoseconds)
            return (waiter, .success(Grant(since: now, waitedNanoseconds: waited)))
        }
    }

    mutating func settle(_ effects: LimiterEffects<Int>) {
        let ended = expired()
        expect(effects, ended + granted(free: machine.configuration.limit - account.held.count - grantedButAwake))
    }

    /// Exactly these waits have ended: suspended waiters by a resumption, the others at their suspension.
    mutating func expect(_ effects: LimiterEffects<Int>, _ ended: [Ending]) {
        let asleep = ended.filter(\.waiter.isAsleep)
        let expected = asleep.map { Resumption(id: $0.waiter.id, outcome: Self.simplified($0.outcome)) }
        let found = effects.resume.map { Resumption(id: $0.waiter, outcome: Self.simplified($0.outcome)) }
        // Waits that expire together may end in any order; slots are given in order of arrival.
        if expected.filter(\.isGrant) != found.filter(\.isGrant) {
            fail("not first in, first out: \(found), not \(expected)")
        }
        if expected.sorted(by: { $0.id < $1.id }) != found.sorted(by: { $0.id < $1.id }) {
            fail("resumed \(found), not \(expected)")
        }

        for (waiter, outcome) in effects.resume {
            if case .success(let grant) = outcome { account.held[waiter] = grant }
            if case .failure(let error) = outcome, let wait = error.predictedWait, wait < .zero {
                fail("a negative wait: \(wait)")
            }
        }
        for ending in ended where !ending.waiter.isAsleep {
            account.due.append(ending)
        }
        if let request = effects.timer { timer = request }
        if effects.drained { drains += 1 }
    }

    /// The outcome without the parts that the model does not compute: the predicted wait and the charged cost.
    static func simplified(_ outcome: WaitOutcome) -> WaitOutcome {
        switch outcome {
        case .failure(.displaced): .failure(.displaced(predictedWait: .zero))
        case .failure: outcome
        case .success(let grant): .success(Grant(since: grant.since, waitedNanoseconds: grant.waitedNanoseconds))
        }
    }

    struct Resumption: Equatable {
        let id: Int
        let outcome: WaitOutcome
        var isGrant: Bool { if case .success = outcome { true } else { false } }
    }

    mutating func check() {
        if let violation = machine.invariantViolation(at: now) { fail(violation) }
        if machine.waiting != account.waiters.count { fail("\(machine.waiting) wait, not \(account.waiters.count)") }
        let out = account.held.count + grantedButAwake
        if machine.inFlight != out { fail("\(machine.inFlight) in flight, not \(out)") }
        let isOver = machine.isDraining && machine.inFlight == 0 && machine.waiting == 0
        if drains != (isOver ? 1 : 0) { fail("drained \(drains) times") }
    }

    /// Releases everything: no waiter may remain.
    mutating func wind() {
        while problem == nil, !(account.waiters.isEmpty && account.due.isEmpty && account.held.isEmpty) {
            let before = (account.waiters.count, account.due.count, account.held.count)
            for waiter in account.due.map(\.waiter) { sleep(waiter.id) }
            for waiter in account.waiters where !waiter.isAsleep { sleep(waiter.id) }
            finish()
            check()
            if before == (account.waiters.count, account.due.count, account.held.count) {
                fail("a waiter is left")
            }
        }
        if machine.inFlight != 0 || machine.waiting != 0 { fail("something is left over") }
    }
}
