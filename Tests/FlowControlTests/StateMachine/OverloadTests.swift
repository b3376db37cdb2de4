import FlowControl
import SystemSupport
import Testing

/// Distinguishing load from overload: the limiter's state machine in simulated time.
@Suite struct OverloadTests {
    /// A model with `slots` slots, each held for `service` milliseconds, and scheduled requests. Events happen at whole
    /// milliseconds.
    private struct World {
        var machine: LimiterStateMachine<Int>
        let service: Int
        var millisecond = 0
        var came: [Int] = []
        var releases: [Int: [Grant]] = [:]
        /// Requests that got a slot: the number, and the wait of each in milliseconds.
        var waits: [(id: Int, waited: Int)] = []
        var refused: [(id: Int, after: Int, error: AdmissionError)] = []
        var idleSlots = 0
        /// Called for each answered request.
        var answered: ((inout World) -> Void)?
        var tickets: [Int: WaiterTicket] = [:]

        init(slots: Int = 2, service: Int = 10, places: Int = 256, target: Duration = .milliseconds(400)) {
            machine = LimiterStateMachine(
                configuration: LimiterConfiguration(
                    limit: slots, queueCapacity: places, expectedServiceTime: .milliseconds(service),
                    overloadTarget: target))
            self.service = service
        }

        var now: MonotonicInstant { MonotonicInstant(nanoseconds: UInt64(1000 + millisecond) * 1_000_000) }

        mutating func arrive(_ claim: Claim = .usual) {
            let id = came.count
            came.append(millisecond)
            let (arrival, effects) = machine.arrive(at: now, deadline: nil, claim: claim)
            perform(effects)
            switch arrival {
            case .admitted(let grant): begin(id, grant)
            case .refused(let error): refused.append((id, 0, error))
            case .waiting(let ticket):
                tickets[id] = ticket
                _ = machine.suspend(ticket, as: id)
            }
        }

        mutating func pass() {
            millisecond += 1
            for grant in releases.removeValue(forKey: millisecond) ?? [] {
                perform(machine.finish(grant, at: now))
                answered?(&self)
            }
            idleSlots += machine.configuration.limit - machine.inFlight
            // Walks the whole queue.
            guard millisecond % 50 == 0 else { return }
            let violation = machine.invariantViolation(at: now)
            #expect(violation == nil)
        }

        private mutating func begin(_ id: Int, _ grant: Grant) {
            waits.append((id, millisecond - came[id]))
            releases[millisecond + service, default: []].append(grant)
        }

        mutating func perform(_ effects: LimiterEffects<Int>) {
            for (id, outcome) in effects.resume {
                switch outcome {
                case .success(let grant): begin(id, grant)
                case .failure(.cancelled): break
                case .failure(let error): refused.append((id, millisecond - came[id], error))
                }
            }
        }

        /// The waits of the requests that arrived from a millisecond on.
        func waits(from first: Int) -> [Int] { waits.filter { came[$0.id] >= first }.map(\.waited) }
    }

    @Test(
        "under overload admitted requests get a slot within 400 ms, and refusals come at once", arguments: [2, 3, 10])
    func underOverloadThoseWhoAreAdmittedAreAnsweredInTime(times: Int) {
        var world = World()
        for millisecond in 0..<8000 {
            // The capacity is 0.2 requests per millisecond.
            for _ in 0..<(millisecond % 5 == 0 ? times : 0) { world.arrive() }
            world.pass()
        }
        #expect(world.machine.isOverloaded)
        // After overload was detected.
        let late = world.waits(from: 3000).filter { $0 > 400 }
        #expect(late.isEmpty)
        #expect(world.idleSlots < 20)
        let slow = world.refused.filter { world.came[$0.id] >= 3000 && $0.after > 0 }
        #expect(slow.isEmpty)
        #expect(world.refused.contains { if case .overloaded = $0.error { true } else { false } })
        // Requests that waited when it began are late: they get one slot in eight, and none is refused.
        let lateAtFirst = world.waits.filter { $0.waited > 450 }
        #expect(lateAtFirst.count <= 256)
        #expect(lateAtFirst.count { world.came[$0.id] < 3000 && $0.waited > 2000 } <= 8000 / 5 / 8)
        #expect(!world.refused.contains { $0.after > 0 })
    }

    @Test("a closed loop of clients is never refused, for any length of its queue", arguments: [8, 64, 200, 256])
    func closedLoopIsNeverRefusedHoweverLongItsQueue(clients: Int) {
        var world = World()
        world.answered = { $0.arrive() }
        for millisecond in 0..<10_000 {
            if millisecond < clients { world.arrive() }
            world.pass()
        }
        #expect(world.refused.isEmpty)
        #expect(!world.machine.isOverloaded)
        #expect(world.waits.count > 1900)
        // First come, first served, once all clients have started.
        let order = world.waits.filter { world.came[$0.id] > 6000 }.map(\.id)
        #expect(order == order.sorted())
    }

    /// The queue is far from full: requests that can still be answered in time go first as soon as the oldest is late.
    @Test(
        "a load 5 to 20 percent above capacity is served in time at over 90 percent of capacity",
        arguments: [21, 22, 24])
    func loadJustAboveTheCapacityIsAnsweredInTime(requestsIn100Milliseconds: Int) {
        var world = World()
        for millisecond in 0..<20_000 {
            // The capacity is 20 requests in 100 milliseconds.
            let before = millisecond * requestsIn100Milliseconds / 100
            for _ in before..<(millisecond + 1) * requestsIn100Milliseconds / 100 { world.arrive() }
            for (id, ticket) in world.tickets where world.millisecond - world.came[id] == 2000 {
                world.perform(world.machine.cancel(ticket, at: world.now))
            }
            world.pass()
        }
        let inTime = world.waits.filter { $0.waited <= 490 }.count
        #expect(inTime > 3600, "of 4000")
    }

    @Test("while more arrive than are answered, the oldest that is not yet late goes first")
    func oldestThatIsNotLateGoesFirst() {
        var world = World()
        var before = 0
        for millisecond in 0..<1800 {
            // Three arrivals for two answers; after 800 milliseconds the oldest is late.
            if millisecond % 10 == 0 { for _ in 0..<3 { world.arrive() } }
            if millisecond == 1000 { before = world.waits.count }
            world.pass()
        }
        #expect(!world.machine.isOverloaded)
        let waits = world.waits.dropFirst(before).map(\.waited)
        #expect(waits.count >= 158)
        // The newest would not have waited at all, and the oldest for half a second.
        let inTime = waits.filter { (300...400).contains($0) }
        #expect(inTime.count * 10 >= waits.count * 9)
    }

    /// The capacity is 500 requests per second, so a full queue means a wait of half a second.
    @Test("overload that fills the queue slowly is detected before any request is late", arguments: [22, 24, 26])
    func slowlyFilledQueueIsOverloadBeforeAnyRequestIsLate(requestsIn40Milliseconds: Int) {
        var world = World(service: 4)
        for millisecond in 0..<12_000 {
            let before = millisecond * requestsIn40Milliseconds / 40
            for _ in before..<(millisecond + 1) * requestsIn40Milliseconds / 40 { world.arrive() }
            world.pass()
        }
        #expect(world.machine.isOverloaded)
        #expect(world.waits.allSatisfy { $0.waited <= 480 })
        #expect(world.refused.allSatisfy { $0.after == 0 })
        #expect(world.refused.allSatisfy { if case .overloaded = $0.error { true } else { false } })
        #expect(world.waits.count >= 5990, "of 6000")
    }

    /// The load looks like overload as long as clients start: 250 in a second, or with a wait above the target, or many
    /// times above.
    @Test(
        "closed loops whose clients begin one after another are not overload",
        arguments: [
            (4, 250, 1000), (5, 200, 1000), (5, 200, 3000), (10, 100, 3000), (10, 250, 3000), (10, 200, 20_000),
        ])
    func closedLoopThatBeginsSlowlyIsNotOverload(service: Int, clients: Int, milliseconds: Int) {
        var world = World(service: service)
        world.answered = { $0.arrive() }
        for millisecond in 0..<milliseconds + 4000 {
            let begun = min(clients * millisecond / milliseconds, clients)
            for _ in begun..<min(clients * (millisecond + 1) / milliseconds, clients) { world.arrive() }
            world.pass()
        }
        #expect(!world.machine.isOverloaded)
        #expect(world.refused.isEmpty)
    }

    @Test("a burst that nearly fills the queue within a second is answered whole")
    func burstThatNearlyFillsTheQueueIsAnsweredWhole() {
        var world = World(service: 4)
        for millisecond in 0..<2000 {
            // 400 requests, of which 250 still wait when the last one arrives.
            for _ in 0..<(millisecond < 300 ? 400 * (millisecond + 1) / 300 - 400 * millisecond / 300 : 0) {
                world.arrive()
            }
            world.pass()
        }
        #expect(world.waits.count == 400)
        #expect(world.refused.isEmpty)
    }

    @Test("patient clients whose number grows are all served within four seconds")
    func patientClientsWhoseNumberGrowsAreNotPassedOverWithoutEnd() {
        var world = World()
        world.answered = { $0.arrive() }
        for millisecond in 0..<30_000 {
            // 200 clients, one more every 100 milliseconds.
            if millisecond % 100 == 0, millisecond < 20_000 { world.arrive() }
            world.pass()
        }
        #expect(world.refused.isEmpty)
        #expect(world.waits.count > 5900)
        let longest = world.waits.map(\.waited).max() ?? 0
        #expect(longest < 4000, "2000 ms are too long; one in four slots goes to the oldest from then on")
    }

    @Test("a single burst is refused only for lack of places, not as overload")
    func singleBurstIsRefusedForItsPlacesAlone() {
        var world = World(places: 50)
        for _ in 0..<100 { world.arrive() }
        for _ in 0..<1000 { world.pass() }
        #expect(!world.machine.isOverloaded)
        #expect(world.waits.count == 52)
        #expect(world.refused.count == 48)
    }

    /// Requests that arrive within a second, all answered before the next burst.
    @Test("each burst is answered up to the queue's length, after any bursts", arguments: [256, 600, 1000])
    func burstIsAnsweredUpToTheQueuesLengthWhateverCameBefore(requests: Int) {
        var world = World()
        for burst in 1...3 {
            let before = world.waits.count
            for millisecond in 0..<6000 {
                if millisecond < 1000 {
                    for _ in requests * millisecond / 1000..<requests * (millisecond + 1) / 1000 { world.arrive() }
                }
                world.pass()
            }
            let answered = world.waits.count - before
            #expect(answered >= min(requests, 256), "burst \(burst)")
            // Accepted requests are answered.
            #expect(!world.refused.contains { $0.after > 0 })
        }
    }

    @Test("overload ends with 100 ms of silence before the next request")
    func overloadEndsWithSilenceBeforeTheNextRequest() {
        var world = World()
        for millisecond in 0..<4000 {
            for _ in 0..<(millisecond % 5 == 0 ? 3 : 0) { world.arrive() }
            world.pass()
        }
        #expect(world.machine.isOverloaded)
        let refused = world.refused.count
        // Until the waiting requests are answered, and 100 milliseconds longer.
        while world.machine.inFlight > 0 { world.pass() }
        for _ in 0..<100 { world.pass() }
        for _ in 0..<256 { world.arrive() }
        #expect(!world.machine.isOverloaded)
        #expect(world.refused.count == refused)
    }

    @Test("requests that wait when overload begins are answered while the overload lasts")
    func thoseWhoWaitWhenOverloadBeginsAreAnsweredWhileItLasts() {
        var world = World()
        for millisecond in 0..<14_000 {
            for _ in 0..<(millisecond % 5 == 0 ? 3 : 0) { world.arrive() }
            world.pass()
        }
        #expect(world.machine.isOverloaded)
        let early = world.came.indices.filter { world.came[$0] < 600 }
        let answered = Set(world.waits.map(\.id)), refusedAtOnce = Set(world.refused.filter { $0.after == 0 }.map(\.id))
        #expect(early.allSatisfy { answered.contains($0) || refusedAtOnce.contains($0) })
    }

    @Test("overload ends when no more requests arrive than complete")
    func overloadEndsWhenNoMoreComeThanAreDone() {
        var world = World()
        for millisecond in 0..<4000 {
            for _ in 0..<(millisecond % 5 == 0 ? 3 : 0) { world.arrive() }
            world.pass()
        }
        #expect(world.machine.isOverloaded)
        for millisecond in 0..<4000 {
            if millisecond % 10 == 0 { world.arrive() }
            world.pass()
        }
        #expect(!world.machine.isOverloaded)
        let refusedBefore = world.refused.count
        // The clients of a closed loop are served again.
        for _ in 0..<200 { world.arrive() }
        for _ in 0..<2000 { world.pass() }
        #expect(world.refused.count == refusedBefore)
    }

    @Test("many waiters that leave early show overload before the queue is full")
    func waitersThatLeaveInNumbersTellOfOverloadBeforeThePlacesDo() {
        var world = World(slots: 1, service: 100)
        for millisecond in 0..<6000 {
            if millisecond % 40 == 0 { world.arrive() }
            for (id, ticket) in world.tickets where world.millisecond - world.came[id] == 1500 {
                world.perform(world.machine.cancel(ticket, at: world.now))
            }
            world.pass()
        }
        #expect(world.machine.isOverloaded)
        #expect(!world.refused.contains { if case .queueFull = $0.error { true } else { false } })
        #expect(world.waits(from: 4000).allSatisfy { $0 <= 400 })
    }

    @Test("without an overload target only the queue's capacity bounds the queue")
    func withoutTargetPlacesAloneBoundTheQueue() {
        var world = World(places: 50, target: .zero)
        for _ in 0..<4000 {
            world.arrive()
            world.pass()
        }
        #expect(!world.machine.isOverloaded)
        #expect(world.refused.allSatisfy { if case .queueFull = $0.error { true } else { false } })
        #expect((49...50).contains(world.machine.waiting))
    }

    @Test("a model slower than the overload target keeps its slots busy")
    func slowModelStillHasOneWaiter() {
        // Longer than the target even without a wait: the slots must not stay unused between two requests.
        var world = World(slots: 2, service: 900, places: 8)
        for millisecond in 0..<20_000 {
            if millisecond % 50 == 0 { world.arrive() }
            world.pass()
        }
        #expect(world.machine.isOverloaded)
        #expect(world.idleSlots < 200)
    }

    @Test("retry times of requests refused together are spread over about eleven seconds")
    func thoseWhoAreRefusedTogetherComeBackApart() {
        var detector = OverloadDetector(target: .milliseconds(400))
        let start = MonotonicInstant(nanoseconds: 1_000_000_000)
        for index in 0..<500 {
            let now = start + .milliseconds(index)
            detector.arrived(at: now)
            if index % 10 == 0 { detector.completed(at: now, interval: 1e7) }
        }
        var seconds: [Int64: Int] = [:]
        for _ in 0..<1000 { seconds[detector.retryAfter().components.seconds, default: 0] += 1 }
        // Ten arrivals for each completion: 1 to 11 s, all about equally often.
        #expect(seconds.keys.min() == 1)
        #expect((10...12).contains(seconds.keys.max() ?? 0))
        #expect(seconds.values.filter { $0 > 150 }.isEmpty)
    }
}
