/// The expected effort of a load, for the order of those that wait: models that were loaded here before come first,
/// then small ones.
package struct LoadCost: Sendable, Comparable {
    /// True if this program loaded it on this machine before, and it has not changed: the compiled model is likely
    /// kept.
    package var wasLoaded = false
    /// Bytes of its files; nil where they could not be looked at.
    package var bytes: Int?
    /// Decides where all else is equal.
    package var name = ""

    package init(wasLoaded: Bool = false, bytes: Int? = nil, name: String = "") {
        self.wasLoaded = wasLoaded
        self.bytes = bytes
        self.name = name
    }

    package static func < (a: LoadCost, b: LoadCost) -> Bool {
        if (a.bytes == nil) != (b.bytes == nil) { return b.bytes == nil }
        if a.wasLoaded != b.wasLoaded { return a.wasLoaded }
        return (a.bytes ?? 0, a.name) < (b.bytes ?? 0, b.name)
    }
}

/// Decides which loads run: a number at a time, the others wait, the cheapest first. No clock, no tasks.
///
/// A load that takes long (``isLate(_:)``) gives its place to the next one and continues beside it, so that a model
/// that hangs does not hold up the others. Each load may take much memory: of the late ones, ``mostLate`` do so, the
/// others keep their places.
package struct LoadQueue {
    /// Late loads that hold no place.
    package static let mostLate = 2

    /// The number of loads that may run at a time, beside the late ones.
    package var limit: Int
    private var waiting: [(id: Int, cost: LoadCost)] = []
    private var running: Set<Int> = []
    private var late: Set<Int> = []
    private var next = 0

    package init(limit: Int) { self.limit = limit }

    /// A load comes: it waits for ``admit()``.
    package mutating func arrive(_ cost: LoadCost) -> Int {
        next &+= 1
        let place = waiting.firstIndex { cost < $0.cost } ?? waiting.endIndex
        waiting.insert((next, cost), at: place)
        return next
    }

    /// A load that runs takes longer than others should wait for.
    package mutating func isLate(_ id: Int) { if running.contains(id) { late.insert(id) } }

    /// A load has ended.
    package mutating func end(_ id: Int) {
        running.remove(id)
        late.remove(id)
    }

    /// The loads that may begin now.
    package mutating func admit() -> [Int] {
        let taken = running.count - min(late.count, Self.mostLate)
        let count = min(waiting.count, max(0, max(1, limit) - taken))
        let admitted = waiting.prefix(count).map(\.id)
        waiting.removeFirst(count)
        running.formUnion(admitted)
        return admitted
    }
}
