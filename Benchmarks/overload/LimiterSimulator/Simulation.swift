import FlowControl
import SystemSupport

/// One model behind the limiter's own state machine, and its clients, in simulated time.
///
/// A request that has a slot waits for one of the engine's streams, is served there, and gives its slot back. Nothing sleeps:
/// a minute of overload takes a few milliseconds.
struct Simulation {
    typealias Machine = LimiterStateMachine<Int>

    enum Event {
        /// The next request of the open loop.
        case arrival
        /// A request of a volley.
        case shot(volley: Int)
        /// A client of the closed loop sends its next request.
        case turn
        /// The patience of a client has ended.
        case impatience(Int)
        case served(Int)
        case timer(TimerRequest)
    }

    private struct Request {
        let came: Double
        let isOpen: Bool
        var ticket: WaiterTicket?
        var grant: Grant?
        var isOver = false
        var volley: Int?
    }

    let load: Load
    private(set) var result = Outcome()
    private var machine: Machine
    private var random: SplitMix
    private var events = EventQueue<Event>()
    private var now = 0.0
    private var requests: [Request] = []
    private var engineQueue: [Int] = []
    private var busyStreams = 0
    /// The pace of the machine, and the tenth of a second for which it was drawn.
    private var pace = (factor: 1.0, tenth: -1)
    private var paces: SplitMix

    init(load: Load, limiter: LimiterConfiguration, seed: UInt64) {
        self.load = load
        machine = Machine(configuration: limiter)
        random = SplitMix(seed: seed)
        paces = SplitMix(seed: ~seed)
    }

    mutating func run() -> Outcome {
        if load.rate > 0 { events.add(at: 0, .arrival) }
        for index in 0..<load.closedClients {
            events.add(at: load.rampSeconds * Double(index) / Double(max(load.closedClients, 1)), .turn)
        }
        result.answeredOfVolleys = load.volleysAt.map { _ in 0 }
        for (volley, at) in load.volleysAt.enumerated() {
            for index in 0..<load.volley {
                events.add(at: at + Double(index) / Double(load.volley), .shot(volley: volley))
            }
        }
        while let (at, event) = events.next(), at <= load.seconds {
            while Double(result.samples.count) * 0.25 < at {
                result.samples.append(
                    Sample(
                        at: Double(result.samples.count) * 0.25, waiting: machine.waiting,
                        isOverloaded: machine.isOverloaded))
            }
            now = at
            handle(event)
        }
        result.seconds = load.loadSeconds
        result.capacity = load.capacity
        return result
    }

    private var instant: MonotonicInstant { MonotonicInstant(nanoseconds: 1_000_000_000 + UInt64(now * 1e9)) }

    private mutating func handle(_ event: Event) {
        switch event {
        case .arrival:
            guard now < load.arrivalSeconds else { return }
            let rate = load.rate * (load.isBurst(now) ? load.burstFactor : 1)
            events.add(at: now + (load.isEven ? 1 / rate : random.exponential(mean: 1 / rate)), .arrival)
            arrive(isOpen: true)
        case .shot(let volley): arrive(isOpen: true, volley: volley)
        case .turn: arrive(isOpen: false)
        case .impatience(let id): leave(id)
        case .served(let id): finish(id)
        case .timer(let request): perform(machine.timerFired(epoch: request.epoch, at: instant))
        }
    }

    private mutating func arrive(isOpen: Bool, volley: Int? = nil) {
        let id = requests.count
        requests.append(Request(came: now, isOpen: isOpen, volley: volley))
        if now >= load.countedFrom { result.arrived += 1 }
        let (arrival, effects) = machine.arrive(at: instant, deadline: nil)
        perform(effects)
        switch arrival {
        case .admitted(let grant): begin(id, grant)
        case .refused: refuse(id)
        case .waiting(let ticket):
            requests[id].ticket = ticket
            if isOpen, volley == nil { events.add(at: now + load.patience, .impatience(id)) }
            if let outcome = machine.suspend(ticket, as: id) { end(id, outcome) }
        }
    }

    private mutating func perform(_ effects: LimiterEffects<Int>) {
        if let timer = effects.timer {
            // A microsecond late, as timers are: rounding must not make it early.
            events.add(at: max(now, Double(timer.at.nanoseconds) / 1e9 - 1) + 1e-6, .timer(timer))
        }
        for (id, outcome) in effects.resume { end(id, outcome) }
    }

    private mutating func end(_ id: Int, _ outcome: WaitOutcome) {
        switch outcome {
        case .success(let grant): begin(id, grant)
        case .failure(.cancelled): break
        case .failure: refuse(id)
        }
    }

    private mutating func begin(_ id: Int, _ grant: Grant) {
        requests[id].grant = grant
        engineQueue.append(id)
        startEngine()
    }

    private mutating func startEngine() {
        while busyStreams < load.streams, !engineQueue.isEmpty {
            busyStreams += 1
            let id = engineQueue.removeFirst()
            events.add(at: now + load.service(&random) / currentPace(), .served(id))
        }
    }

    private mutating func currentPace() -> Double {
        guard load.unsteadiness > 0 else { return 1 }
        let tenth = Int(now * 10)
        if tenth != pace.tenth {
            pace = (paces.uniform((1 - load.unsteadiness)...(1 + load.unsteadiness)), tenth)
        }
        return pace.factor
    }

    private mutating func finish(_ id: Int) {
        busyStreams -= 1
        let request = requests[id]
        if !request.isOver {
            requests[id].isOver = true
            if let volley = request.volley { result.answeredOfVolleys[volley] += 1 }
            if request.came >= load.countedFrom {
                result.answered(after: now - request.came, wanted: request.isOpen ? load.wanted : .infinity)
            }
            if !request.isOpen { events.add(at: now + think(), .turn) }
        }
        if let grant = request.grant { perform(machine.finish(grant, at: instant)) }
        startEngine()
    }

    /// The time that a client of the closed loop takes for its next request: 50 to 150 % of the mean where that is long.
    private mutating func think() -> Double {
        load.thinkSeconds < 0.01 ? load.thinkSeconds : load.thinkSeconds * random.uniform(0.5...1.5)
    }

    private mutating func refuse(_ id: Int) {
        requests[id].isOver = true
        if requests[id].came >= load.countedFrom {
            result.refused(after: now - requests[id].came, isOpen: requests[id].isOpen)
        }
        if !requests[id].isOpen { events.add(at: now + 1, .turn) }
    }

    /// The client disconnects. A request in the engine still runs to its end.
    private mutating func leave(_ id: Int) {
        guard !requests[id].isOver else { return }
        requests[id].isOver = true
        if requests[id].came >= load.countedFrom { result.gone += 1 }
        if requests[id].grant == nil, let ticket = requests[id].ticket {
            perform(machine.cancel(ticket, at: instant))
        }
    }
}
