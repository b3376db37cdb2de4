/// A timer wheel for the deadlines of connections, by descriptor. Each slot is a doubly linked list in arrays.
///
/// Setting and clearing take a few stores and no allocation, so even a flood of short connections leaves nothing
/// behind. A deadline that becomes later is not moved: `expire` returns the entry at its old time, and the owner sets
/// it again for the rest (a kept-alive connection uses the wheel once per 75 seconds, not once per request).
package struct TimerWheel: Sendable {
    private static let none: Int32 = -1
    private let tick: UInt64
    private var slots: [Int32]
    private var next: [Int32] = []
    private var previous: [Int32] = []
    private var slotOf: [Int32] = []
    private var current: UInt64
    /// The first tick whose slot may have entries; `timeUntilNext` uses it instead of searching the slots.
    private var earliest: UInt64 = .max
    /// The number of entries.
    package private(set) var count = 0

    /// A wheel with slots of `tick` nanoseconds, which begins at `now`.
    package init(now: UInt64, tick: UInt64 = 100_000_000, slots: Int = 1024) {
        self.tick = tick
        self.slots = Array(repeating: Self.none, count: slots)
        current = now / tick
    }

    /// Sets the deadline of `id`, and replaces an earlier one. The deadline is rounded up to a whole tick. A deadline
    /// beyond the wheel's range goes into the last slot, and is set again when it expires.
    package mutating func set(_ id: Int32, at deadline: UInt64) {
        grow(to: Int(id))
        clear(id)
        let due = max(deadline / tick &+ 1, current &+ 1)
        let last = current &+ UInt64(slots.count &- 1)
        let place = min(due, last)
        earliest = min(earliest, place)
        let slot = Int(place % UInt64(slots.count))
        let first = slots[slot]
        next[Int(id)] = first
        previous[Int(id)] = Self.none
        if first != Self.none { previous[Int(first)] = id }
        slots[slot] = id
        slotOf[Int(id)] = Int32(truncatingIfNeeded: slot)
        count += 1
    }

    /// Removes the deadline of `id`, if it has one.
    package mutating func clear(_ id: Int32) {
        let index = Int(id)
        guard index < slotOf.count, slotOf[index] != Self.none else { return }
        let (before, after) = (previous[index], next[index])
        if before == Self.none { slots[Int(slotOf[index])] = after } else { next[Int(before)] = after }
        if after != Self.none { previous[Int(after)] = before }
        slotOf[index] = Self.none
        count -= 1
    }

    /// True if `id` has a deadline.
    package func isSet(_ id: Int32) -> Bool {
        Int(id) < slotOf.count && slotOf[Int(id)] != Self.none
    }

    /// Removes every entry whose slot has passed and appends it to `expired`.
    package mutating func expire(now: UInt64, into expired: inout [Int32]) {
        let target = now / tick
        guard target > current else { return }
        guard count > 0, target >= earliest else { return current = target }
        // After a long sleep, one turn of the wheel visits every slot.
        let turns = min(target &- current, UInt64(slots.count))
        for step in 1...turns {
            let slot = Int((current &+ step) % UInt64(slots.count))
            while slots[slot] != Self.none {
                let id = slots[slot]
                clear(id)
                expired.append(id)
            }
        }
        current = target
        earliest = .max
        for step in 1...UInt64(slots.count) where slots[Int((current &+ step) % UInt64(slots.count))] != Self.none {
            earliest = current &+ step
            break
        }
    }

    /// The time until `expire` may have entries, in nanoseconds (they may have been cleared meanwhile); nil without
    /// entries.
    package func timeUntilNext(now: UInt64) -> UInt64? {
        guard count > 0 else { return nil }
        let due = earliest &* tick
        return due > now ? due &- now : 0
    }

    private mutating func grow(to index: Int) {
        while slotOf.count <= index {
            slotOf.append(Self.none)
            next.append(Self.none)
            previous.append(Self.none)
        }
    }
}
