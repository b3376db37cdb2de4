/// A first-in first-out queue of small integers (descriptors) from which any member can be removed in constant time: a
/// doubly linked list in arrays. It contains each member at most once.
package struct IndexQueue: Sendable {
    private static let none: Int32 = -1
    private static let absent: Int32 = -2
    private var next: [Int32] = []
    private var previous: [Int32] = []
    /// The oldest member.
    package private(set) var first: Int32?
    private var last: Int32?
    /// The number of members.
    package private(set) var count = 0

    /// An empty queue.
    package init() {}

    /// True if the queue contains `id`.
    package func contains(_ id: Int32) -> Bool {
        Int(id) < next.count && next[Int(id)] != Self.absent
    }

    /// The member after `id`; nil if `id` is the last one or not in the queue.
    package func after(_ id: Int32) -> Int32? {
        guard contains(id), next[Int(id)] != Self.none else { return nil }
        return next[Int(id)]
    }

    /// Appends `id`, unless the queue contains it.
    package mutating func append(_ id: Int32) {
        while next.count <= Int(id) {
            next.append(Self.absent)
            previous.append(Self.none)
        }
        guard next[Int(id)] == Self.absent else { return }
        next[Int(id)] = Self.none
        previous[Int(id)] = last ?? Self.none
        if let last { next[Int(last)] = id } else { first = id }
        last = id
        count += 1
    }

    /// Moves `id` to the end, or appends it.
    package mutating func moveToEnd(_ id: Int32) {
        guard last != id else { return }
        remove(id)
        append(id)
    }

    /// Removes `id`, if the queue contains it.
    package mutating func remove(_ id: Int32) {
        guard contains(id) else { return }
        let (before, after) = (previous[Int(id)], next[Int(id)])
        if before == Self.none { first = after == Self.none ? nil : after } else { next[Int(before)] = after }
        if after == Self.none { last = before == Self.none ? nil : before } else { previous[Int(after)] = before }
        next[Int(id)] = Self.absent
        count -= 1
    }

    /// Removes and returns the first member.
    package mutating func popFirst() -> Int32? {
        guard let id = first else { return nil }
        remove(id)
        return id
    }
}
