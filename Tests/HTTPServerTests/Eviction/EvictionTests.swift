import HTTPServer
import Testing

/// Tests of the order in which connections are closed for new ones.
@Suite struct EvictionTests {
    static let piece = EvictionMachine.piece

    @Test("answered connections go first, then idle ones, incomplete heads, slow bodies and slow readers, each by age")
    func order() {
        var script = EvictionScript()
        script.open(10, 9, in: .handling)
        script.answer(10, 100_000)
        script.answer(9, 100_000)
        script.open(8, 7, in: .body)
        script.open(6, 5, in: .head)
        script.open(4, 3, in: .idle)
        script.open(2, in: .skipping)
        script.open(1, in: .lingering)
        script.wait(60)
        let steps = (0..<11).map { _ in script.evict() }
        #expect(
            steps == [
                .close(2), .close(1), .close(4), .close(3), .close(6), .close(5), .refuseBody(8, .finished),
                .refuseBody(7, .finished), .close(10), .close(9), .stop,
            ])
    }

    @Test("a connection that is handled, or has a reserved place, is never closed for another")
    func spared() {
        var script = EvictionScript()
        script.open(1, in: .handling)
        script.open(2, in: .waiting)
        for (id, phase) in [(3, .idle), (4, .head), (5, .body), (6, .lingering)] as [(Int32, ConnectionMachine.Phase)] {
            script.open(id, in: phase, isReserved: true)
        }
        _ = script.machine.holds(6, 100_000, isReserved: true, now: script.now)
        script.wait(60)
        #expect(script.evict() == .stop)
        #expect(script.machine.idleCount == 0)
    }

    @Test("the connection goes first whose last request is longest ago, not the oldest connection")
    func lastUse() {
        var script = EvictionScript()
        script.open(1, 2, 3, in: .idle)
        script.settle(1, in: .handling)
        script.settle(1, in: .idle)
        script.settle(2, in: .idle)
        #expect((0..<3).map { _ in script.evict() } == [.close(3), .close(1), .close(2)])
    }

    @Test("a connection that was answered within the last second is spared if a body is slow, and only then")
    func recent() {
        var script = EvictionScript()
        script.open(1, 2, in: .body)
        script.wait(0.998)
        script.open(3, in: .head)
        script.open(4, in: .idle)
        // The bodies are slow a second after their beginning.
        #expect(script.evict() == .refuseBody(1, .finished))
        script.machine.received(2, Self.piece, now: script.now)
        #expect(script.evict() == .close(4))
        script.wait(1)
        // The head is as old as the slow body now.
        #expect(script.evict() == .close(3))
    }

    @Test("a body is slow after a second without a whole piece, and no sooner")
    func slowBodies() {
        var script = EvictionScript()
        script.open(1, 2, in: .body)
        let start = script.now
        script.now = start + 999_000_000 - 1
        #expect(script.machine.slowestBody(now: script.now) == nil)
        script.now += 1
        #expect(script.machine.slowestBody(now: script.now) == 1)
        script.machine.received(1, Self.piece - 1, now: script.now)
        #expect(script.machine.slowestBody(now: script.now) == 1)
        script.machine.received(1, 1, now: script.now)
        #expect(script.machine.slowestBody(now: script.now) == nil)
        script.now = start + EvictionScript.second
        #expect(script.machine.slowestBody(now: script.now) == 2)
        #expect(script.machine.slowestBody(after: EvictionScript.second + 1, now: script.now) == nil)
    }

    @Test("a body whose client has not taken earlier answers is closed as evicted, so that the kernel drops them")
    func unreadBody() {
        var script = EvictionScript()
        script.open(1, in: .body)
        script.answer(1, 1000)
        script.wait(2)
        #expect(script.evict() == .refuseBody(1, .evicted))
    }

    @Test("an idle connection with unread answers is a reader until its client has taken them")
    func unreadIdle() {
        var script = EvictionScript()
        script.open(1, 2, in: .idle)
        script.machine.handed(1, 100, now: script.now)
        script.queued[1] = 100
        #expect(script.evict() == .close(2))
        #expect(script.steps == [.measure(1), .measure(2), .look(2), .close(2)])
        #expect(script.evict() == .stop)
        script.queued[1] = 0
        script.measure(1)
        #expect(script.machine.idleCount == 1)
        #expect(script.evict() == .close(1))
    }

    @Test("an answered connection with unread answers is a reader until its client has taken them")
    func unreadLeaving() {
        var script = EvictionScript()
        script.open(1, in: .handling)
        script.answer(1, 100)
        script.settle(1, in: .lingering)
        #expect(script.evict() == .stop)
        script.queued[1] = 0
        script.measure(1)
        #expect(script.evict() == .close(1))
        #expect(script.steps == [.measure(1), .close(1)])
    }

    @Test("a connection whose next request has arrived is spared")
    func busy() {
        var script = EvictionScript()
        script.open(1, 2, in: .idle)
        script.open(3, in: .head)
        script.busy = [1, 2]
        #expect(script.evict() == .close(3))
        #expect(script.phases[1] == .handling && script.phases[2] == .handling)
    }

    @Test("at most 64 sockets are read and 64 readers measured in a search, whatever the number of connections")
    func bounded() {
        var script = EvictionScript()
        for id: Int32 in 1...200 {
            script.open(id, in: .idle)
            script.busy.insert(id)
        }
        for id: Int32 in 201...400 {
            script.open(id, in: .handling)
            script.answer(id, 100)
        }
        script.wait(0.25)
        #expect(script.evict() == .stop)
        #expect(script.steps.filter { if case .look = $0 { true } else { false } }.count == 64)
        // One measurement before each look, and one of each reader.
        #expect(script.steps.filter { if case .measure = $0 { true } else { false } }.count == 128)
    }

    @Test("a reader is closed after the patience of waiting bodies, the one with the least recent progress first")
    func readers() {
        var script = EvictionScript()
        for id: Int32 in 1...3 {
            script.open(id, in: .answering)
            script.answer(id, 100_000)
        }
        #expect(script.evict() == .stop)
        script.wait(0.25)
        // This client has taken a piece since the last measurement.
        script.queued[1] = 100_000 - Self.piece
        #expect(script.evict() == .close(2))
        #expect(script.evict() == .close(3))
        #expect(script.evict() == .stop)
    }

    @Test("a client that takes the rest of its answer byte by byte is spared for the write timeout, and no longer")
    func drippers() {
        var script = EvictionScript()
        script.open(1, in: .answering)
        script.answer(1, 1000)
        for _ in 1..<60 {
            script.wait(0.5)
            script.queued[1]? -= 1
            #expect(script.evict() == .stop)
        }
        script.wait(0.5)
        script.queued[1]? -= 1
        #expect(script.evict() == .close(1))
    }

    @Test("nothing of a closed connection is left for the next one with its descriptor")
    func reused() {
        var script = EvictionScript()
        script.open(1, in: .body)
        script.answer(1, 100)
        let last = script.machine.closed(1)
        #expect(last.queued == 100 && last.held == 100)
        script.open(1, in: .idle)
        let standing = script.machine[1]
        #expect(standing.queued == 0 && standing.held == 0 && standing.progressAt == script.now)
        script.wait(2)
        #expect(script.machine.slowestBody(now: script.now) == nil)
    }
}
