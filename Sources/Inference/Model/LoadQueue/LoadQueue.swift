/// The expected cost of a load, for the order of those that wait: models that were loaded here before come first, then
/// small ones.
package struct LoadCost: Sendable, Comparable {
    /// True if this program has loaded it on this machine before, and its files have not changed: the compiled model is
    /// probably cached.
    package var wasLoaded = false
    /// The total size of its files in bytes; nil if they could not be read.
    package var bytes: Int?
    /// Breaks ties.
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

/// Decides which loads run: a limited number at a time, the others wait, the cheapest first. No clock, no tasks.
///
/// A load that takes long (``isLate(_:)``) yields its place to the next one and continues in parallel, so that a model
/// that hangs does not delay the others. Because each load may take much memory, at most ``maximumLateLoads`` late
/// loads yield their places; further late ones keep theirs.
package struct LoadQueue {
    /// The maximum number of late loads that have yielded their places.
    package static let maximumLateLoads = 2

    /// The number of loads that may run at a time, in addition to the late ones.
    package var limit: Int
    private var waiting: [(id: Int, cost: LoadCost)] = []
    private var running: Set<Int> = []
    private var late: Set<Int> = []
    private var next = 0

    package init(limit: Int) { self.limit = limit }

    /// Queues a load, which waits for ``admit()``. Returns its identifier.
    package mutating func arrive(_ cost: LoadCost) -> Int {
        next &+= 1
        let place = waiting.firstIndex { cost < $0.cost } ?? waiting.endIndex
        waiting.insert((next, cost), at: place)
        return next
    }

    /// Marks a running load as late: others should not wait for it any longer.
    package mutating func isLate(_ id: Int) { if running.contains(id) { late.insert(id) } }

    /// Removes a load that has ended.
    package mutating func end(_ id: Int) {
        running.remove(id)
        late.remove(id)
    }

    /// Admits the loads that may begin now. Returns their identifiers.
    package mutating func admit() -> [Int] {
        let taken = running.count - min(late.count, Self.maximumLateLoads)
        let count = min(waiting.count, max(0, max(1, limit) - taken))
        let admitted = waiting.prefix(count).map(\.id)
        waiting.removeFirst(count)
        running.formUnion(admitted)
        return admitted
    }
}
