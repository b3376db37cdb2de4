import FlowControl
import SystemSupport
import TestSupport
import Testing

/// Slots shared among clients by the time for which they hold them: the limiter's state machine in simulated time.
@Suite struct FairnessTests {
    /// A limiter, and clients with requests that hold their slots for given times. Events happen at whole milliseconds.
    struct World {
        typealias Request = (client: Int, work: Int)
        var machine: LimiterStateMachine<Int>
        var millisecond = 0
        var requests: [Request] = []
        var came: [Int] = []
        var releases: [Int: [Grant]] = [:]
        /// Requests that got a slot, in order, with the wait of each.
        var served: [(id: Int, waited: Int)] = []
        var refused: [(id: Int, after: Int)] = []

        init(slots: Int, places: Int = 256) {
            machine = LimiterStateMachine(
                configuration: LimiterConfiguration(
                    limit: slots, queueCapacity: places, expectedServiceTime: .milliseconds(10),
                    overloadTarget: .milliseconds(400)))
        }

        var now: MonotonicInstant { MonotonicInstant(nanoseconds: UInt64(1000 + millisecond) * 1_000_000) }

        /// - Parameters:
        ///   - work: the time for which the slot is held, in milliseconds.
        ///   - promised: the time announced by the header, if it differs.
        mutating func arrive(_ client: Int, work: Int, promised: Int? = nil) {
            let id = requests.count
            requests.append((client, work))
            came.append(millisecond)
            let claim = Claim(client: UInt64(client), work: UInt64(promised ?? work) * 1_000_000)
            let (arrival, effects) = machine.arrive(at: now, deadline: nil, claim: claim)
            perform(effects)
            switch arrival {
            case .admitted(let grant): begin(id, grant)
            case .refused: refused.append((id, 0))
            case .waiting(let ticket): _ = machine.suspend(ticket, as: id)
            }
            check()
        }

        /// Advances time by a millisecond; `done` is called for each request that has ended.
        mutating func pass(done: (inout World, Int) -> Void = { _, _ in }) {
            millisecond += 1
            for grant in releases.removeValue(forKey: millisecond) ?? [] {
                perform(machine.finish(grant, at: now))
                done(&self, grant.claim.client)
            }
        }

        private mutating func begin(_ id: Int, _ grant: Grant) {
            served.append((id, millisecond - came[id]))
            releases[millisecond + requests[id].work, default: []].append(grant)
        }

        private mutating func perform(_ effects: LimiterEffects<Int>) {
            for (id, outcome) in effects.resume {
                switch outcome {
                case .success(let grant): begin(id, grant)
                case .failure: refused.append((id, millisecond - came[id]))
                }
            }
        }

        private func check() {
            let violation = machine.invariantViolation(at: now)
            #expect(violation == nil)
        }

        func waits(of client: Int) -> [Int] { served.filter { requests[$0.id].client == client }.map(\.waited) }
        func time(of client: Int, from first: Int) -> Int {
            served.filter { requests[$0.id].client == client && came[$0.id] + $0.waited >= first }
                .reduce(0) { $0 + requests[$1.id].work }
        }
    }

    @Test("twelve long requests of a client do not delay another client's short requests")
    func twelveLongRequestsOfAnotherClientDelayNobody() {
        var world = World(slots: 3)
        for _ in 0..<12 { world.arrive(1, work: 500) }
        for _ in 0..<10_000 {
            if world.millisecond % 20 == 3 { world.arrive(2, work: 5) }
            world.pass { world, client in
                if client == 1 { world.arrive(1, work: 500) }
            }
        }
        #expect(world.waits(of: 2).count == 500)
        #expect(world.waits(of: 2).max() == 0)
        // The long requests also hold their share of the slots all the time.
        #expect(world.time(of: 1, from: 0) >= 2 * 9500)
    }

    /// If the header announces nothing, a request waits for the next slot, but not longer.
    @Test("a light client waits at most for the next slot, even if another client has long requests")
    func clientThatHasHadMuchTimeWaitsForTheOthers() {
        var world = World(slots: 2)
        for _ in 0..<12 { world.arrive(1, work: 100, promised: 0) }
        for _ in 0..<10_000 {
            if world.millisecond % 50 == 3 { world.arrive(2, work: 5, promised: 0) }
            world.pass { world, client in
                if client == 1 { world.arrive(1, work: 100, promised: 0) }
            }
        }
        #expect(world.waits(of: 2).count >= 199)
        #expect(world.waits(of: 2).max() ?? .max <= 100)
    }

    @Test("clients that always wait get equal slot time, for any length of their requests")
    func clientsThatAlwaysWaitGetTheSameTimeWhateverTheirRequestsTake() {
        var world = World(slots: 2)
        let work = [1: 90, 2: 30, 3: 5]
        for (client, time) in work { for _ in 0..<12 { world.arrive(client, work: time, promised: 0) } }
        for _ in 0..<10_000 {
            world.pass { world, client in world.arrive(client, work: work[client] ?? 0, promised: 0) }
        }
        for client in 1...3 {
            let time = world.time(of: client, from: 1000)
            #expect((5700...6300).contains(time), "client \(client): \(time) of 18000 ms")
        }
    }

    @Test("work done without a slot delays the turn of its client, and of no other client")
    func chargedWork_movesTheTurnBack() {
        var world = World(slots: 1)
        world.arrive(3, work: 100, promised: 0)
        // Client 1 arrives first, but had fifty milliseconds of work elsewhere; client 2 had no work.
        world.arrive(1, work: 10, promised: 0)
        world.arrive(2, work: 10, promised: 0)
        world.machine.charge(Claim(client: 1), nanoseconds: 50_000_000)
        world.arrive(2, work: 10, promised: 0)
        while world.served.count < 4, world.millisecond < 1_000 { world.pass() }
        #expect(world.served.map { world.requests[$0.id].client } == [3, 2, 2, 1])

        // A charge before the arrival counts, too, without a wait.
        var other = World(slots: 1)
        other.arrive(3, work: 100, promised: 0)
        other.machine.charge(Claim(client: 1), nanoseconds: 50_000_000)
        other.arrive(1, work: 10, promised: 0)
        other.arrive(2, work: 10, promised: 0)
        while other.served.count < 3, other.millisecond < 1_000 { other.pass() }
        #expect(other.served.map { other.requests[$0.id].client } == [3, 2, 1])
    }

    @Test("a client that was idle has saved no slot time")
    func clientThatWasIdleHasSavedNoTime() {
        var world = World(slots: 1)
        for _ in 0..<3 { world.arrive(1, work: 10, promised: 0) }
        for millisecond in 0..<4000 {
            if millisecond == 2000 { for _ in 0..<3 { world.arrive(2, work: 10, promised: 0) } }
            world.pass { world, client in world.arrive(client, work: 10, promised: 0) }
        }
        #expect((950...1050).contains(world.time(of: 2, from: 0)))
    }

    /// Two clients find free slots, one of them for twice the time of the other. Neither has saved time when a queue
    /// begins.
    @Test("a client that never had to wait has saved no slot time")
    func clientThatNeverWaitedHasSavedNoTime() {
        var world = World(slots: 5)
        for millisecond in 0..<4000 {
            if millisecond % 4 == 0 { world.arrive(1, work: 10, promised: 0) }
            if millisecond % 8 == 1 { world.arrive(2, work: 10, promised: 0) }
            world.pass()
        }
        #expect(world.waits(of: 2).max() == 0 && world.waits(of: 1).max() == 0)
        for _ in 0..<200 { world.arrive(2, work: 10, promised: 0) }
        world.arrive(3, work: 10, promised: 0)
        for _ in 0..<800 { world.pass() }
        #expect(world.waits(of: 3).count == 1)
        #expect(world.waits(of: 3).max() ?? .max <= 80, "of the 400 ms of the second client's burst")
    }

    @Test("in a queue filled by a client the newest requests make room for another client's")
    func fullQueueOfOneClientHasPlacesForAnother() {
        var world = World(slots: 1, places: 8)
        for _ in 0..<9 { world.arrive(1, work: 50, promised: 0) }
        world.arrive(1, work: 50, promised: 0)
        #expect(world.refused.map(\.id) == [9], "a client does not displace itself")
        for _ in 0..<6 { world.arrive(2, work: 50, promised: 0) }
        // Four each: the newest requests of the first client make room.
        #expect(world.refused.map(\.id) == [9, 8, 7, 6, 5, 14, 15])
        #expect(world.machine.waiting == 8)
    }

    @Test("clients without history are served in order of arrival")
    func clientsWithoutHistoryAreServedInOrderOfArrival() {
        var world = World(slots: 1)
        for client in 1...40 { world.arrive(client, work: 5, promised: 0) }
        for _ in 0..<300 { world.pass() }
        #expect(world.served.map(\.id) == Array(0..<40))
    }

    /// A client with a request always waiting is behind other such clients by at most the requests in flight.
    @Test("random clients that always wait differ in slot time by a bounded amount")
    func randomClientsNeverFallBehind() {
        let seed = SplitMix.seed(for: "randomClientsNeverFallBehind")
        var random = SplitMix(seed: seed)
        for round in 0..<60 {
            let slots = Int.random(in: 1...4, using: &random), clients = Int.random(in: 2...5, using: &random)
            let longest = (0..<clients).map { _ in Int.random(in: 1...60, using: &random) }
            var world = World(slots: slots)
            func send(_ world: inout World, _ client: Int) {
                world.arrive(
                    client, work: Int.random(in: 1...longest[client], using: &random),
                    promised: random.chance(50) ? 0 : Int.random(in: 0...9, using: &random))
            }
            for client in 0..<clients { for _ in 0...slots { send(&world, client) } }
            for _ in 0..<2000 { world.pass { world, client in send(&world, client) } }
            let times = (0..<clients).map { world.time(of: $0, from: 0) }
            // With start-time fair queueing over several slots, the shares differ by each client's own requests in
            // flight.
            let maximum = 2 * (slots + 1) * (longest.max() ?? 0)
            let difference = (times.max() ?? 0) - (times.min() ?? 0)
            #expect(difference <= maximum, "seed \(seed), round \(round): \(times), longest \(longest), \(slots) slots")
            #expect(world.refused.isEmpty)
        }
    }

    @Test("the turn heap gives the earliest turn after any inserts, moves and removals")
    func heapGivesTheEarliestTurnWhateverMoved() {
        let seed = SplitMix.seed(for: "heapGivesTheEarliestTurnWhateverMoved")
        var random = SplitMix(seed: seed)
        var heap = TurnHeap()
        var account: [Int: Int64] = [:]
        for step in 0..<20_000 {
            let list = Int.random(in: 0..<40, using: &random), start = Int64.random(in: 0..<100, using: &random)
            switch (account[list], random.chance(40)) {
            case (nil, _): heap.insert(list, start: start); account[list] = start
            case (_?, true): heap.remove(list); account[list] = nil
            case (_?, false): heap.move(list, to: start); account[list] = start
            }
            #expect(heap.first?.start == account.values.min(), "seed \(seed), step \(step)")
            #expect(heap.turns.count == account.count)
        }
    }
}
