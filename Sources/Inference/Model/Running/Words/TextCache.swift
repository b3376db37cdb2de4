internal import Synchronization

/// The vectors of texts that were embedded lately, for all models of the process: bounded in bytes, the least recently
/// used are dropped first. Thread-safe.
///
/// A text is found by its bytes, not as a string: Swift compares strings by canonical equivalence, and tokenizers need
/// not.
package final class TextCache: Sendable {
    /// The cache of this process.
    package static let shared = TextCache(capacity: defaultCapacity)
    /// The capacity before the settings are read.
    private static let defaultCapacity = 16 << 20

    /// The counters for metrics.
    package struct Usage: Sendable, Hashable {
        package var hits: UInt64 = 0, misses: UInt64 = 0
        package var bytes = 0, texts = 0
    }

    /// A text of one model: `space` names everything that its vectors depend on.
    package struct Key: Hashable, Sendable {
        let space: String
        let text: [UInt8]

        package init(space: String, text: String) { (self.space, self.text) = (space, Array(text.utf8)) }
    }

    fileprivate struct Entry {
        let key: Key
        let embedding: TextEmbedding
        let size: Int
        /// The neighbours by use: indices into `entries`; -1 at the ends.
        var newer = -1, older = -1
    }

    fileprivate struct State {
        var capacity: Int
        var usage = Usage()
        var places: [Key: Int] = [:]
        var entries: [Entry?] = []
        var free: [Int] = []
        var newest = -1, oldest = -1
    }

    private let state: Mutex<State>

    /// - Parameter capacity: the maximum number of bytes; 0 keeps nothing.
    package init(capacity: Int) { state = Mutex(State(capacity: capacity)) }

    /// Changes the capacity; drops what is beyond it.
    package func use(capacity: Int) {
        state.withLock { state in
            state.capacity = max(0, capacity)
            state.evict()
        }
    }

    package var usage: Usage { state.withLock { $0.usage } }

    /// The known vector of a text.
    package func embedding(_ key: Key) -> TextEmbedding? {
        state.withLock { state -> TextEmbedding? in
            guard let place = state.places[key], let entry = state.entries[place] else {
                state.usage.misses &+= 1
                return nil
            }
            state.usage.hits &+= 1
            state.unlink(place)
            state.link(place)
            return entry.embedding
        }
    }

    /// Keeps a vector, unless it is larger than the capacity.
    package func keep(_ embedding: TextEmbedding, for key: Key) {
        let size = Self.size(of: embedding, key)
        state.withLock { state in
            guard size <= state.capacity, state.places[key] == nil else { return }
            let place = state.free.popLast() ?? state.entries.count
            let entry = Entry(key: key, embedding: embedding, size: size)
            if place == state.entries.count { state.entries.append(entry) } else { state.entries[place] = entry }
            state.places[key] = place
            state.link(place)
            state.usage.bytes += size
            state.usage.texts += 1
            state.evict()
        }
    }

    /// The bytes of an entry, with those of the tables and of the arrays' headers.
    private static func size(of embedding: TextEmbedding, _ key: Key) -> Int {
        key.text.count + embedding.vector.count * MemoryLayout<Float>.stride + 2 * MemoryLayout<Entry?>.stride + 128
    }
}

extension TextCache.State {
    /// Makes an entry the newest.
    fileprivate mutating func link(_ place: Int) {
        entries[place]?.older = newest
        entries[place]?.newer = -1
        if newest >= 0 { entries[newest]?.newer = place } else { oldest = place }
        newest = place
    }

    fileprivate mutating func unlink(_ place: Int) {
        guard let entry = entries[place] else { return }
        if entry.newer >= 0 { entries[entry.newer]?.older = entry.older } else { newest = entry.older }
        if entry.older >= 0 { entries[entry.older]?.newer = entry.newer } else { oldest = entry.newer }
    }

    fileprivate mutating func evict() {
        while usage.bytes > capacity, oldest >= 0, let entry = entries[oldest] {
            let place = oldest
            unlink(place)
            places[entry.key] = nil
            entries[place] = nil
            free.append(place)
            usage.bytes -= entry.size
            usage.texts -= 1
        }
        // Release the memory of the tables once they are empty.
        if places.isEmpty { (places, entries, free) = ([:], [], []) }
    }
}
