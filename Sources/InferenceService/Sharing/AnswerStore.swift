internal import SystemSupport

/// The finished answers, the newest first: bounded in bytes and in age.
///
/// Room for a new one is made by SIEVE (Zhang and others, "SIEVE is Simpler than LRU", NSDI 2024): a hand goes from the
/// oldest to the newest and around, drops those that were not asked for since it last came by, and spares the others
/// once. Of answers that are asked for by Zipf's law, more are found than where the one that was not used for longest
/// goes (0.73 for 0.68 with a tenth of them kept), because one that is asked for once does not stay as long.
struct AnswerStore<Answer: Sendable>: Sendable {
    private struct Entry: Sendable {
        let key: SipHash.Key
        let answer: Answer
        let size: Int
        let made: MonotonicInstant
        /// True if it was asked for since the hand came by.
        var isWanted = false
        /// The neighbours by age: indices into `entries`; -1 at the ends.
        var newer: Int
        var older: Int
    }

    /// The most bytes that are kept; 0 keeps nothing.
    var capacity: Int {
        didSet { evict() }
    }
    /// The time for which an answer may be given again.
    var age: Duration
    /// The bytes of the answers that are kept.
    private(set) var bytes = 0

    private var places: [SipHash.Key: Int] = [:]
    private var entries: [Entry?] = []
    private var free: [Int] = []
    private var newest = -1
    private var oldest = -1
    /// The place where the search for one that can go continues; -1: at the oldest.
    private var hand = -1

    /// The number of answers that are kept.
    var count: Int { places.count }

    init(capacity: Int, age: Duration) {
        self.capacity = capacity
        self.age = age
    }

    /// An answer that is not too old.
    mutating func answer(_ key: SipHash.Key, at now: MonotonicInstant) -> Answer? {
        guard let place = places[key], let entry = entries[place] else { return nil }
        guard now - entry.made < age else {
            drop(place, entry)
            return nil
        }
        if !entry.isWanted { entries[place]?.isWanted = true }
        return entry.answer
    }

    /// Keeps an answer, in place of one with the same key. One that is larger than all that may be kept is not kept.
    mutating func keep(_ answer: Answer, size: Int, for key: SipHash.Key, at now: MonotonicInstant) {
        if let place = places[key], let entry = entries[place] { drop(place, entry) }
        guard size <= capacity else { return }
        // Before it comes: it is not the one that goes.
        evict(beside: size)
        bytes += size
        let entry = Entry(key: key, answer: answer, size: size, made: now, newer: -1, older: newest)
        let place: Int
        if let last = free.popLast() {
            place = last
            entries[place] = entry
        } else {
            place = entries.count
            entries.append(entry)
        }
        places[key] = place
        if newest >= 0 { entries[newest]?.newer = place } else { oldest = place }
        newest = place
    }

    /// Drops answers until there is room for one of so many bytes.
    private mutating func evict(beside size: Int = 0) {
        while bytes > capacity - size {
            let place = hand >= 0 ? hand : oldest
            guard place >= 0, let entry = entries[place] else { return }
            if entry.isWanted {
                entries[place]?.isWanted = false
                hand = entry.newer
            } else {
                drop(place, entry)
            }
        }
    }

    private mutating func drop(_ place: Int, _ entry: Entry) {
        if hand == place { hand = entry.newer }
        if entry.newer >= 0 { entries[entry.newer]?.older = entry.older } else { newest = entry.older }
        if entry.older >= 0 { entries[entry.older]?.newer = entry.newer } else { oldest = entry.newer }
        bytes -= entry.size
        places[entry.key] = nil
        entries[place] = nil
        free.append(place)
        // The room of many small ones is not held when they are gone.
        if places.isEmpty { (places, entries, free) = ([:], [], []) }
    }
}
