package import SystemSupport

/// Identifies a waiter while it waits: the index of its entry, and the number of earlier uses of that entry, so that a
/// ticket which outlives its waiter is invalid instead of identifying another one.
package struct WaiterTicket: Sendable, Hashable {
    fileprivate let index: Int
    fileprivate let generation: UInt64
}

/// The waiters, in order of arrival overall and for each client: doubly linked lists threaded through an array.
///
/// Per client two FIFO lists (normal, long); per kind one heap of lists ordered by virtual start time. When overload
/// begins, waiters that arrived too early to be answered in time are set aside, in two further lists without turns.
///
/// Removal from the middle is O(1), or O(log n) for the last waiter of a client; entries are reused, and nothing is
/// allocated once the array has grown to the maximum length of the queue. A waiter passes through these stages:
///
///     free ──append──▶ arriving ──attach──▶ suspended ──resolve──▶ free     (its `Waiter` is handed out to be resumed)
///      ▲                  └──resolve──▶ resolved ──attach──┐
///      └───────────────────────────────────────────────────┘                (the outcome is handed to `attach`)
///
/// The second path is a race that must not lose a wake-up: a waiter gets its slot before it is suspended.
package struct WaiterQueue<Waiter> {
    private enum Stage {
        case free
        case arriving
        case suspended(Waiter)
        case resolved(WaitOutcome)
    }

    /// The properties of a waiter that the queue stores.
    package struct Arrival {
        package let at: MonotonicInstant
        /// True if the deadline ends its wait, false if the maximum wait does.
        package let expiresByDeadline: Bool
        package let claim: Claim

        package init(at: MonotonicInstant, expiresByDeadline: Bool, claim: Claim) {
            self.at = at
            self.expiresByDeadline = expiresByDeadline
            self.claim = claim
        }
    }

    private struct Entry {
        var generation: UInt64 = 0
        var stage = Stage.free
        var arrival: Arrival
        var list: Int
        /// Neighbors in order of arrival; in a free entry, `next` is the next free entry.
        var inOrder = Links()
        var inList = Links()
    }

    private struct Links {
        var previous = none, next = none
    }

    private struct Ends {
        var head = none, tail = none
        var count = 0
    }

    private static var none: Int { -1 }
    private var entries: [Entry] = []
    private var firstFree = none
    /// All waiters that are not set aside.
    private var all = Ends()
    /// The two lists of waiters set aside, then two lists for each client: normal, long.
    private var lists: [Ends] = [Ends(), Ends()]
    private var usual = TurnHeap(), long = TurnHeap()
    /// The last result of ``oldest(since:)``, where the next search begins.
    private var young = none

    package init() {}

    /// The number of waiters; the number of those set aside.
    package var count: Int { all.count + aside }
    package var aside: Int { lists[0].count + lists[1].count }

    /// The oldest and the newest waiter that is not set aside.
    package var oldest: WaiterTicket? { ticket(at: all.head) }
    package var newest: WaiterTicket? { ticket(at: all.tail) }

    /// The first waiter that arrived at or after `instant` and is not set aside. The search begins at the last result:
    /// if the instants increase, it takes one step for each waiter in total.
    package mutating func oldest(since instant: MonotonicInstant) -> WaiterTicket? {
        var index = young == Self.none ? all.tail : young
        while index != Self.none, entries[index].arrival.at < instant { index = entries[index].inOrder.next }
        while let before = ticket(at: index == Self.none ? Self.none : entries[index].inOrder.previous),
            arrival(of: before).at >= instant
        {
            index = before.index
        }
        young = index
        return ticket(at: index)
    }

    // MARK: Turns

    /// The list with the next turn.
    package func next(allowingLong: Bool) -> TurnHeap.Turn? {
        guard allowingLong, let longs = long.first else { return usual.first }
        guard let usuals = usual.first else { return longs }
        return longs.precedes(usuals) ? longs : usuals
    }

    package func oldest(of turn: TurnHeap.Turn) -> WaiterTicket? { ticket(at: lists[turn.list].head) }
    package func newest(of turn: TurnHeap.Turn) -> WaiterTicket? { ticket(at: lists[turn.list].tail) }

    /// The turn of a waiter's list; nil if the waiter was set aside. The queue must contain it.
    package func turn(of ticket: WaiterTicket) -> TurnHeap.Turn? {
        let list = entries[ticket.index].list
        return usual.turn(of: list) ?? long.turn(of: list)
    }

    /// The first waiter that was set aside.
    package func oldestDeferred(allowingLong: Bool) -> WaiterTicket? {
        guard allowingLong, let long = ticket(at: lists[1].head) else { return ticket(at: lists[0].head) }
        guard let usual = ticket(at: lists[0].head) else { return long }
        return arrival(of: long).at < arrival(of: usual).at ? long : usual
    }

    /// The last waiter that was set aside.
    package var newestDeferred: WaiterTicket? { ticket(at: lists[0].tail) ?? ticket(at: lists[1].tail) }

    /// The number of a client's waiters that are not set aside, and the number of clients with such waiters (a client
    /// with normal and long ones counts twice).
    package func waiting(of client: Int) -> Int {
        let first = Self.list(client, isLong: false)
        return first + 1 < lists.count ? lists[first].count + lists[first + 1].count : 0
    }
    package var clients: Int { usual.turns.count + long.turns.count }

    /// The list with the most waiters.
    package var longestList: (turn: TurnHeap.Turn, count: Int)? {
        var longest: (turn: TurnHeap.Turn, count: Int)?
        for heap in [usual, long] {
            for turn in heap.turns where lists[turn.list].count > longest?.count ?? 0 {
                longest = (turn, lists[turn.list].count)
            }
        }
        return longest
    }

    package mutating func move(_ client: Int, to start: Int64) {
        usual.move(Self.list(client, isLong: false), to: start)
        long.move(Self.list(client, isLong: true), to: start)
    }

    // MARK: Waiters

    /// True if the waiter is still in the queue.
    package func contains(_ ticket: WaiterTicket) -> Bool {
        guard entries.indices.contains(ticket.index), entries[ticket.index].generation == ticket.generation else {
            return false
        }
        switch entries[ticket.index].stage {
        case .arriving, .suspended: return true
        case .free, .resolved: return false
        }
    }

    /// The arrival of a waiter. The queue must contain it.
    package func arrival(of ticket: WaiterTicket) -> Arrival { entries[ticket.index].arrival }

    /// Appends a waiter in stage arriving: `attach` must follow, exactly once.
    /// - Parameter start: the turn of its client.
    package mutating func append(_ arrival: Arrival, start: Int64) -> WaiterTicket {
        let list = Self.list(arrival.claim.client, isLong: arrival.claim.isLong)
        let index = takeEntry(Entry(arrival: arrival, list: list))
        entries[index].stage = .arriving
        appendInOrder(index)
        if list >= lists.count { lists.append(contentsOf: repeatElement(Ends(), count: (list | 1) + 1 - lists.count)) }
        if lists[list].count == 0 {
            if arrival.claim.isLong { long.insert(list, start: start) } else { usual.insert(list, start: start) }
        }
        append(index, toList: list)
        return WaiterTicket(index: index, generation: entries[index].generation)
    }

    /// Removes the turn of a waiter. The queue must contain it, and this must be called only once for it.
    package mutating func deferTurn(_ ticket: WaiterTicket) {
        unlink(ticket.index)
        append(ticket.index, toList: entries[ticket.index].arrival.claim.isLong ? 1 : 0)
    }

    /// Suspends a waiter: returns nil, or the outcome if its wait has ended already.
    package mutating func attach(_ waiter: Waiter, to ticket: WaiterTicket) -> WaitOutcome? {
        switch entries[ticket.index].stage {
        case .arriving:
            entries[ticket.index].stage = .suspended(waiter)
            return nil
        case .resolved(let outcome):
            free(ticket.index)
            return outcome
        case .free, .suspended:
            assertionFailure("attached twice")
            return .failure(.cancelled)
        }
    }

    /// Ends the wait and removes the waiter from the queue. Returns the waiter to resume; nil if it is not suspended
    /// yet and will get the outcome from `attach`. The queue must contain it.
    package mutating func resolve(_ ticket: WaiterTicket, with outcome: WaitOutcome) -> Waiter? {
        unlink(ticket.index)
        guard case .suspended(let waiter) = entries[ticket.index].stage else {
            entries[ticket.index].stage = .resolved(outcome)
            return nil
        }
        free(ticket.index)
        return waiter
    }

    /// The waiters from walking the lists in both directions: those set aside, then the others from the oldest to the
    /// newest; nil if the directions disagree, or a count is wrong. For tests: O(n).
    package var tickets: [WaiterTicket]? {
        guard let inOrder = walk(all, \.inOrder) else { return nil }
        var inLists: [[WaiterTicket]] = []
        for (list, ends) in lists.enumerated() {
            guard let found = walk(ends, \.inList) else { return nil }
            let hasTurn = usual.turn(of: list) != nil || long.turn(of: list) != nil
            guard hasTurn == (list > 1 && !found.isEmpty) else { return nil }
            inLists.append(found)
        }
        guard Set(inOrder) == Set(inLists.dropFirst(2).joined()) else { return nil }
        return inLists[0] + inLists[1] + inOrder
    }

    /// The number of waiters of one kind that have turns. For tests: O(n).
    package func waiting(isLong: Bool) -> Int {
        lists.enumerated().reduce(0) { $0 + ($1.offset % 2 == (isLong ? 1 : 0) ? $1.element.count : 0) }
    }

    private func walk(_ ends: Ends, _ links: (Entry) -> Links) -> [WaiterTicket]? {
        func walk(from start: Int, _ step: (Links) -> Int) -> [WaiterTicket] {
            var found: [WaiterTicket] = []
            var index = start
            while let next = ticket(at: index), found.count <= ends.count {
                found.append(next)
                index = step(links(entries[index]))
            }
            return found
        }
        let forth = walk(from: ends.head, \.next)
        guard forth.count == ends.count, forth.allSatisfy(contains) else { return nil }
        return forth == walk(from: ends.tail, \.previous).reversed() ? forth : nil
    }

    // MARK: Links

    private static func list(_ client: Int, isLong: Bool) -> Int { 2 + 2 * client + (isLong ? 1 : 0) }

    private func ticket(at index: Int) -> WaiterTicket? {
        index == Self.none ? nil : WaiterTicket(index: index, generation: entries[index].generation)
    }

    private mutating func takeEntry(_ entry: Entry) -> Int {
        guard firstFree != Self.none else {
            entries.append(entry)
            return entries.count - 1
        }
        let index = firstFree
        firstFree = entries[index].inOrder.next
        let generation = entries[index].generation
        entries[index] = entry
        entries[index].generation = generation
        return index
    }

    private mutating func appendInOrder(_ index: Int) {
        entries[index].inOrder = Links(previous: all.tail, next: Self.none)
        if all.tail == Self.none { all.head = index } else { entries[all.tail].inOrder.next = index }
        all.tail = index
        all.count += 1
    }

    private mutating func append(_ index: Int, toList list: Int) {
        entries[index].list = list
        let tail = lists[list].tail
        entries[index].inList = Links(previous: tail, next: Self.none)
        if tail == Self.none { lists[list].head = index } else { entries[tail].inList.next = index }
        lists[list].tail = index
        lists[list].count += 1
    }

    /// Removes a waiter from its list and, unless it was set aside, from the order of arrival.
    private mutating func unlink(_ index: Int) {
        let list = entries[index].list
        let (previous, next) = (entries[index].inList.previous, entries[index].inList.next)
        if previous == Self.none { lists[list].head = next } else { entries[previous].inList.next = next }
        if next == Self.none { lists[list].tail = previous } else { entries[next].inList.previous = previous }
        lists[list].count -= 1
        guard list > 1 else { return }
        if lists[list].count == 0 {
            if entries[index].arrival.claim.isLong { long.remove(list) } else { usual.remove(list) }
        }
        let (older, newer) = (entries[index].inOrder.previous, entries[index].inOrder.next)
        if young == index { young = newer }
        if older == Self.none { all.head = newer } else { entries[older].inOrder.next = newer }
        if newer == Self.none { all.tail = older } else { entries[newer].inOrder.previous = older }
        all.count -= 1
    }

    private mutating func free(_ index: Int) {
        entries[index].stage = .free
        entries[index].generation &+= 1
        entries[index].inOrder.next = firstFree
        firstFree = index
    }
}
