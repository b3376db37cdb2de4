internal import SystemSupport

/// The finished answers, the one used last first: bounded in bytes and in age. What is needed for a new one is taken from those that were
/// not used for longest.
struct AnswerStore<Answer: Sendable>: Sendable {
    private struct Entry: Sendable {
        let key: SipHash.Key
        let answer: Answer
        let size: Int
        let made: MonotonicInstant
        /// The neighbours by use: indices into `entries`; -1 at the ends.
        var newer: Int
        var older: Int
    }

    /// The most bytes that are kept; 0 keeps nothing.
    var capacity: Int {
        didSet { evict() }
    }
    /// How long an answer may be given again.
    var age: Duration
    /// The bytes of the answers that are kept.
    private(set) var bytes = 0

    private var places: [SipHash.Key: Int] = [:]
    private var entries: [Entry?] = []
    private var free: [Int] = []
    private var newest = -1
    private var oldest = -1

    /// The number of answers that are kept.
    var count: Int { places.count }

    init(capacity: Int, age: Duration) {
        self.capacity = capacity
        self.age = age
    }

    /// An answer that is not too old; it counts as used now.
    mutating func answer(_ key: SipHash.Key, at now: MonotonicInstant) -> Answer? {
        guard let place = places[key], let entry = entries[place] else { return nil }
        unlink(place, entry)
        guard now - entry.made < age else {
            drop(place, entry)
            return nil
        }
        link(place, entry)
        return entry.answer
    }

    /// Keeps an answer, in place of one with the same key. One that is larger than all that may be kept is not kept.
    mutating func keep(_ answer: Answer, size: Int, for key: SipHash.Key, at now: MonotonicInstant) {
        if let place = places[key], let entry = entries[place] {
            unlink(place, entry)
            drop(place, entry)
        }
        guard size <= capacity else { return }
        bytes += size
        let entry = Entry(key: key, answer: answer, size: size, made: now, newer: -1, older: -1)
        let place: Int
        if let last = free.popLast() {
            place = last
            entries[place] = entry
        } else {
            place = entries.count
            entries.append(entry)
        }
        places[key] = place
        link(place, entry)
        evict()
    }

    private mutating func evict() {
        while bytes > capacity, oldest >= 0, let entry = entries[oldest] {
            let place = oldest
            unlink(place, entry)
            drop(place, entry)
        }
    }

    private mutating func link(_ place: Int, _ entry: Entry) {
        var entry = entry
        (entry.newer, entry.older) = (-1, newest)
        entries[place] = entry
        if newest >= 0 { entries[newest]?.newer = place } else { oldest = place }
        newest = place
    }

    private mutating func unlink(_ place: Int, _ entry: Entry) {
        if entry.newer >= 0 { entries[entry.newer]?.older = entry.older } else { newest = entry.older }
        if entry.older >= 0 { entries[entry.older]?.newer = entry.newer } else { oldest = entry.newer }
    }

    private mutating func drop(_ place: Int, _ entry: Entry) {
        bytes -= entry.size
        places[entry.key] = nil
        entries[place] = nil
        free.append(place)
    }
}
