package import SystemSupport

/// Decides which request computes an answer, which requests wait for it, and which cached answers are used. A pure
/// state machine: `AnswerSharing` computes and waits.
///
/// ```
///  arrive ─▶ hit            a cached answer that is not too old
///        ├─▶ leads(run)     no request computes it: compute it, then `end`
///        ├─▶ joins(run)     an equal request computes it: wait for its end
///        ├─▶ alone          the key belongs to another content: compute it, and share nothing
///        └─▶ compare(run)   the keys are equal: compare the contents, and arrive again
///  leave(run) ─▶ true       the last waiting request left: cancel the work
///  end(run)                 the answer is computed; it is cached if allowed
/// ```
package struct SharingMachine<Content: Sendable, Answer: Sendable>: Sendable {
    /// Identifies one computation of an answer; unique.
    package typealias Run = UInt64

    package enum Arrival: Sendable {
        case hit(Answer)
        case leads(Run)
        case joins(Run)
        case alone
        /// A run with an equal key: compare the contents, and arrive again.
        case compare(Run, Content)
    }

    /// The limits of the cache.
    package struct Limits: Equatable, Sendable {
        /// The bytes of cached answers; 0 caches nothing.
        package var capacity: Int
        package var age: Duration

        package init(capacity: Int, age: Duration) {
            self.capacity = capacity
            self.age = age
        }
    }

    /// The counters for metrics.
    package struct Usage: Equatable, Sendable {
        /// The number of cached answers, and their bytes.
        package var answers = 0
        package var bytes = 0
        /// The number of requests with a cached answer, with the answer of a concurrent request, and with a computed
        /// one. Requests that left before are not counted.
        package var hits: UInt64 = 0
        package var joined: UInt64 = 0
        package var misses: UInt64 = 0
    }

    private struct UnderWay: Sendable {
        let run: Run
        let content: Content
        /// The number of requests that wait for it.
        var members: Int
    }

    private var underWay: [SipHash.Key: UnderWay] = [:]
    private var store: AnswerStore<Answer>
    private var nextRun: Run = 0
    private var hits: UInt64 = 0
    private var joined: UInt64 = 0
    private var misses: UInt64 = 0

    package init(_ limits: Limits) {
        store = AnswerStore(capacity: limits.capacity, age: limits.age)
    }

    /// Applies other limits, to cached answers too.
    package mutating func use(_ limits: Limits) {
        store.age = limits.age
        store.capacity = limits.capacity
    }

    /// True if finished answers are cached.
    package var keeps: Bool { store.capacity > 0 }

    package var usage: Usage {
        Usage(answers: store.count, bytes: store.bytes, hits: hits, joined: joined, misses: misses)
    }

    /// The number of answers that are being computed.
    package var runs: Int { underWay.count }

    /// Decides on an arriving request. Contents may be long, so the caller compares them, and arrives again with the
    /// result.
    /// - Parameter compared: the run with the content that was compared with the request's; nil before a comparison.
    package mutating func arrive(
        _ key: SipHash.Key, _ content: Content, compared: (run: Run, isEqual: Bool)?, at now: MonotonicInstant
    ) -> Arrival {
        if store.capacity > 0, let answer = store.answer(key, at: now) {
            hits &+= 1
            return .hit(answer)
        }
        guard let under = underWay[key] else {
            misses &+= 1
            nextRun &+= 1
            underWay[key] = UnderWay(run: nextRun, content: content, members: 1)
            return .leads(nextRun)
        }
        guard let compared, compared.run == under.run else { return .compare(under.run, under.content) }
        guard compared.isEqual else {
            misses &+= 1
            return .alone
        }
        underWay[key]?.members += 1
        return .joins(under.run)
    }

    /// Removes a request that waits for an answer.
    /// - Returns: true if it was the last one: the caller cancels the work, and later requests compute the answer
    ///   again.
    package mutating func leave(_ run: Run, _ key: SipHash.Key) -> Bool {
        guard var under = underWay[key], under.run == run else { return false }
        under.members -= 1
        underWay[key] = under.members == 0 ? nil : under
        return under.members == 0
    }

    /// Ends the work on an answer.
    /// - Parameters:
    ///   - others: the number of requests that waited for it, without the one for which it was computed.
    ///   - isShared: true if they get it; otherwise each computes its own.
    ///   - kept: the answer, with its bytes, if it may be cached; otherwise nil.
    package mutating func end(
        _ run: Run, _ key: SipHash.Key, others: Int = 0, isShared: Bool = true, kept: (answer: Answer, size: Int)?,
        at now: MonotonicInstant
    ) {
        guard let place = underWay.index(forKey: key), underWay[place].value.run == run else { return }
        underWay.remove(at: place)
        if isShared { joined &+= UInt64(clamping: others) } else { misses &+= UInt64(clamping: others) }
        if let kept, store.capacity > 0 { store.keep(kept.answer, size: kept.size, for: key, at: now) }
    }
}
