/// The lists of waiters by their next turn: a binary heap with an index from each list to its place.
package struct TurnHeap: Sendable {
    package struct Turn: Sendable {
        package let list: Int
        /// The start in virtual time.
        package var start: Int64
        /// The order of insertion, which decides between lists with equal starts.
        let order: UInt64

        package func precedes(_ other: Turn) -> Bool { (start, order) < (other.start, other.order) }
    }

    package private(set) var turns: [Turn] = []
    /// The place of each list in the heap; -1 for lists that are not in it.
    private var places: [Int] = []
    private var inserted: UInt64 = 0

    package init() {}

    package var first: Turn? { turns.first }

    /// The turn of a list; nil if it is not in the heap.
    package func turn(of list: Int) -> Turn? { place(of: list).map { turns[$0] } }

    /// Inserts a list, which must not be in the heap.
    package mutating func insert(_ list: Int, start: Int64) {
        if list >= places.count { places.append(contentsOf: repeatElement(-1, count: list + 1 - places.count)) }
        inserted &+= 1
        turns.append(Turn(list: list, start: start, order: inserted))
        places[list] = turns.count - 1
        siftUp(from: turns.count - 1)
    }

    package mutating func move(_ list: Int, to start: Int64) {
        guard let place = place(of: list) else { return }
        turns[place].start = start
        siftUp(from: place)
        siftDown(from: place)
    }

    package mutating func remove(_ list: Int) {
        guard let place = place(of: list) else { return }
        swap(place, turns.count - 1)
        turns.removeLast()
        places[list] = -1
        guard place < turns.count else { return }
        siftUp(from: place)
        siftDown(from: place)
    }

    private func place(of list: Int) -> Int? {
        list < places.count && places[list] >= 0 ? places[list] : nil
    }

    private mutating func siftUp(from start: Int) {
        var child = start
        while child > 0, turns[child].precedes(turns[(child - 1) / 2]) {
            swap(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func siftDown(from start: Int) {
        var parent = start
        while true {
            var minimum = parent
            for child in 2 * parent + 1...2 * parent + 2
            where child < turns.count && turns[child].precedes(turns[minimum]) {
                minimum = child
            }
            guard minimum != parent else { return }
            swap(parent, minimum)
            parent = minimum
        }
    }

    private mutating func swap(_ one: Int, _ other: Int) {
        turns.swapAt(one, other)
        places[turns[one].list] = one
        places[turns[other].list] = other
    }
}
