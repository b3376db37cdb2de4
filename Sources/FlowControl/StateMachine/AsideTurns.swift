/// The turns of waiters that were set aside when overload began: they get every free slot that no other waiter wants,
/// and while others have turns one slot in eight.
package struct AsideTurns: Sendable {
    private static let slotsPerTurn = 8

    /// The number of slots given since a waiter that was set aside got one.
    private var passedOver = 0

    package init() {}

    /// A slot is free, and a waiter that was set aside could have it. Returns true if it gets it. `hasOthers`: another
    /// waiter has a turn.
    package mutating func isNext(hasOthers: Bool) -> Bool {
        passedOver += 1
        guard !hasOthers || passedOver >= Self.slotsPerTurn else { return false }
        passedOver = 0
        return true
    }

    /// The number of slots that `aside` waiters set aside get while `others` get theirs, at most.
    package static func slots(during others: Int, aside: Int) -> Int {
        min(aside, others / (slotsPerTurn - 1))
    }
}
