import FlowControl
import Testing

/// Tests of the turns of waiters that were set aside.
@Suite struct AsideTurnsTests {
    @Test("a waiter that was set aside gets each eighth slot while others have turns")
    func eighth() {
        var turns = AsideTurns()
        let got = (1...24).filter { _ in turns.isNext(hasOthers: true) }
        #expect(got == [8, 16, 24])
    }

    @Test("a waiter that was set aside gets a slot that no other waiter wants, and the next one seven slots later")
    func unwanted() {
        var turns = AsideTurns()
        let others = [true, true, false, false] + Array(repeating: true, count: 8)
        #expect(others.map { turns.isNext(hasOthers: $0) } == [false, false, true, true] + (1...8).map { $0 == 8 })
    }

    @Test("the slots predicted for waiters that were set aside are those that they get before a request's own turn")
    func predicted() {
        for others in 0..<50 {
            for aside in 0..<10 {
                var turns = AsideTurns()
                var (served, left) = (0, aside)
                // The last one is the request itself.
                while served < others + 1 {
                    if left > 0, turns.isNext(hasOthers: true) { left -= 1 } else { served += 1 }
                }
                #expect(AsideTurns.slots(during: others, aside: aside) == aside - left, "\(others), \(aside)")
            }
        }
    }
}
