package import SystemSupport

/// Names one waiter for as long as it waits: an entry in the queue's array and how often that entry was used before, so
/// that a ticket which outlives its waiter names nothing instead of a stranger.
package struct WaiterTicket: Sendable, Hashable {
    fileprivate let index: Int
    fileprivate let generation: UInt64
}

/// The waiters: in order of arrival, and of each client in order of arrival; doubly linked lists threaded through an
/// array.
///
/// Each client has a list for its usual requests and one for its long ones, and a heap for each kind has the lists by
/// their turns. When overload begins, those who came too early to be answered in time are set aside, in two further
/// lists without turns.
///
/// Leaving from the middle is O(1), or O(log n) for a client's last; entries are reused, and nothing is allocated once
/// the array has grown to the longest queue so far. A waiter goes through these stages:
///
///     free ──append──▶ arriving ──attach──▶ suspended ──resolve──▶ free     (its `Waiter` is handed out to be resumed)
///      ▲                  └──resolve──▶ resolved ──attach──┐
///      └───────────────────────────────────────────────────┘                (the outcome is handed to `attach`)
///
/// The second way is the race that must not lose a wake-up: a waiter gets its slot before it went to sleep.
package struct WaiterQueue<Waiter> {
    private enum Stage {
        case free
        case arriving
        case suspended(Waiter)
        case resolved(WaitOutcome)
    }

    /// The properties of a waiter that the queue keeps.
    package struct Arrival {
        package let at: MonotonicInstant
        /// True if it is its deadline that ends its wait.
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
        /// Beside it in order of arrival; in a free entry, `next` is the next free entry.
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
    /// All that are not set aside.
    private var all = Ends()
    /// The two of those set aside, then two of each client: usual, long.
    private var lists: [Ends] = [Ends(), Ends()]
    private var usual = TurnHeap(), long = TurnHeap()
    /// The last answer of ``oldest(since:)``, where the next search begins.
    private var young = none

    package init() {}

    /// The number of waiters; the number of them that were set aside.
    package var count: Int { all.count + aside }
    package var aside: Int { lists[0].count + lists[1].count }

    /// The first and the last waiter that is not set aside.
    package var oldest: WaiterTicket? { ticket(at: all.head) }
    package var newest: WaiterTicket? { ticket(at: all.tail) }

    /// The first waiter that came at `instant` or later, of those that are not set aside. Searched from the last answer
    /// on: in all, a step for each waiter, where instants that are asked for grow.
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

    /// The list whose turn is next.
    package func next(allowingLong: Bool) -> TurnHeap.Turn? {
        guard allowingLong, let longs = long.first else { return usual.first }
        guard let usuals = usual.first else { return longs }
        return longs.precedes(usuals) ? longs : usuals
    }

    package func oldest(of turn: TurnHeap.Turn) -> WaiterTicket? { ticket(at: lists[turn.list].head) }
    package func newest(of turn: TurnHeap.Turn) -> WaiterTicket? { ticket(at: lists[turn.list].tail) }

    /// The turn of the list that a waiter is in; nil where it was set aside. Only for one that `contains` affirms.
    package func turn(of ticket: WaiterTicket) -> TurnHeap.Turn? {
        let list = entries[ticket.index].list
        return usual.turn(of: list) ?? long.turn(of: list)
    }

    /// The one that was set aside first.
    package func oldestAside(allowingLong: Bool) -> WaiterTicket? {
        guard allowingLong, let long = ticket(at: lists[1].head) else { return ticket(at: lists[0].head) }
        guard let usual = ticket(at: lists[0].head) else { return long }
        return arrival(of: long).at < arrival(of: usual).at ? long : usual
    }

    /// The last of those set aside.
    package var newestAside: WaiterTicket? { ticket(at: lists[0].tail) ?? ticket(at: lists[1].tail) }

    /// Waiters of a client that are not set aside, and how many clients have any (one with long and usual ones counts
    /// twice).
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

    /// The client's turn comes at another time.
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

    /// The arrival of a waiter. Only for one that `contains` affirms.
    package func arrival(of ticket: WaiterTicket) -> Arrival { entries[ticket.index].arrival }

    /// A new waiter at the end, in stage arriving: `attach` must follow, exactly once.
    /// - Parameter start: when its client's turn is.
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

    /// The waiter no longer has a turn. Only for one that `contains` affirms, and once.
    package mutating func setAside(_ ticket: WaiterTicket) {
        unlink(ticket.index)
        append(ticket.index, toList: entries[ticket.index].arrival.claim.isLong ? 1 : 0)
    }

    /// The waiter goes to sleep: nil, or what its wait has ended with before it could.
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

    /// The wait ends: takes the waiter out of the queue. Returns whom to resume, or nil for one that is not asleep yet
    /// and finds the outcome at `attach`. Only for one that `contains` affirms.
    package mutating func resolve(_ ticket: WaiterTicket, with outcome: WaitOutcome) -> Waiter? {
        unlink(ticket.index)
        guard case .suspended(let waiter) = entries[ticket.index].stage else {
            entries[ticket.index].stage = .resolved(outcome)
            return nil
        }
        free(ticket.index)
        return waiter
    }

    /// The waiters, found by walking the lists both ways: those set aside, then the others from the oldest to the
    /// newest; nil if the ways differ, or the lists do not have the members that they count. For tests: O(n).
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

    /// The waiters that have turns, of one kind. For tests: O(n).
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

    /// Takes a waiter out of its list, and out of the order unless it was set aside.
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
