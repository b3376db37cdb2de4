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
        /// One of a volley's.
        case shot(volley: Int)
        /// A client of the closed loop sends its next request.
        case turn
        /// A client has waited for as long as it does.
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

    init(load: Load, limiter: LimiterConfiguration, seed: UInt64) {
        self.load = load
        machine = Machine(configuration: limiter)
        random = SplitMix(seed: seed)
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
            now = at
            handle(event)
        }
        result.seconds = load.seconds
        result.capacity = Double(load.streams) / load.serviceSeconds
        return result
    }

    private var instant: MonotonicInstant { MonotonicInstant(nanoseconds: 1_000_000_000 + UInt64(now * 1e9)) }

    private mutating func handle(_ event: Event) {
        switch event {
        case .arrival:
            let rate = load.rate * (load.isBurst(now) ? load.burstFactor : 1)
            events.add(at: now + random.exponential(mean: 1 / rate), .arrival)
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
        result.arrived += 1
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
            events.add(at: now + load.service(&random), .served(id))
        }
    }

    private mutating func finish(_ id: Int) {
        busyStreams -= 1
        let request = requests[id]
        if !request.isOver {
            requests[id].isOver = true
            if let volley = request.volley { result.answeredOfVolleys[volley] += 1 }
            result.answered(after: now - request.came, wanted: request.isOpen ? load.wanted : .infinity)
            if !request.isOpen { events.add(at: now + 0.001, .turn) }
        }
        if let grant = request.grant { perform(machine.finish(grant, at: instant)) }
        startEngine()
    }

    private mutating func refuse(_ id: Int) {
        requests[id].isOver = true
        result.refused(after: now - requests[id].came, isOpen: requests[id].isOpen)
        if !requests[id].isOpen { events.add(at: now + 1, .turn) }
    }

    /// The client disconnects. A request in the engine still runs to its end.
    private mutating func leave(_ id: Int) {
        guard !requests[id].isOver else { return }
        requests[id].isOver = true
        result.gone += 1
        if requests[id].grant == nil, let ticket = requests[id].ticket {
            perform(machine.cancel(ticket, at: instant))
        }
    }
}
