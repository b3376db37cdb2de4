import HTTPServer
import Testing

/// Tests of the closing of clients that do not read, at the limit of unread answers.
@Suite struct ReaderSearchTests {
    /// Three clients that have not read for five seconds.
    private static func idleReaders(bytes: Int) -> EvictionScript {
        var script = EvictionScript()
        for id: Int32 in 1...3 {
            script.open(id, in: .answering)
            script.answer(id, bytes)
        }
        script.wait(5)
        return script
    }

    @Test("clients that have taken nothing for longest are closed, and no more than needed")
    func longest() {
        var script = Self.idleReaders(bytes: 1000)
        #expect(script.shed(maximum: 3000) == [.stop])
        #expect(script.shed(maximum: 1500) == [.close(1), .close(2), .stop])
    }

    @Test("a client that has taken bytes since the last measurement goes behind the others")
    func measured() {
        var script = Self.idleReaders(bytes: 100_000)
        script.queued[1] = 100_000 - EvictionMachine.piece
        #expect(script.shed(maximum: 200_000) == [.close(2), .stop])
    }

    @Test("a small recent answer is spared while there are others")
    func recent() {
        var script = Self.idleReaders(bytes: 1000)
        // This one is the slowest, but takes.
        script.queued[1] = 999
        #expect(script.shed(maximum: 1000) == [.close(2), .close(3), .stop])
    }

    @Test("if only recent readers are left, the other loops are asked first, once")
    func others() {
        var script = EvictionScript()
        script.open(1, 2, in: .answering)
        script.answer(1, 1000)
        script.answer(2, 1000)
        #expect(script.shed(maximum: 1000) == [.askOthers])
        #expect(script.shed(maximum: 1000) == [.stop])
        script.wait(0.1)
        #expect(script.shed(maximum: 1000) == [.stop])
        script.wait(0.001)
        #expect(script.shed(maximum: 1000) == [.close(1), .stop])
    }

    @Test("recent readers are closed as soon as the other loops have closed theirs")
    func otherLoopsAreDone() {
        var script = EvictionScript()
        script.open(1, in: .answering)
        script.answer(1, 1000)
        #expect(script.shed(maximum: 0) == [.askOthers])
        script.machine.others = .shed
        #expect(script.shed(maximum: 0) == [.close(1), .stop])
    }

    @Test("a loop that another one has asked closes no recent reader, and asks no loop")
    func asked() {
        var script = EvictionScript()
        script.open(1, in: .answering)
        script.answer(1, 1000)
        #expect(script.shed(maximum: 0, mayAsk: false) == [.stop])
        #expect(script.shed(maximum: 0) == [.askOthers])
    }
}
