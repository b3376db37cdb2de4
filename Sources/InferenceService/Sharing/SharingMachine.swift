package import SystemSupport

/// The decisions about answers: which request computes one, which wait for it, and which finished ones are given again.
/// It computes nothing and waits for nothing: `AnswerSharing` does.
///
/// ```
///  arrive ─▶ hit            a finished answer that is not too old
///        ├─▶ leads(run)     nobody computes it: compute it, then `end`
///        ├─▶ joins(run)     the same is being computed: wait for its end
///        ├─▶ alone          another content has the same key: compute it, and share nothing
///        └─▶ compare(run)   the key is the same: arrive again with what a comparison says
///  leave(run) ─▶ true       the last one that waited for it left: cancel the work
///  end(run)                 the answer is there; kept if it may be
/// ```
package struct SharingMachine<Content: Sendable, Answer: Sendable>: Sendable {
    /// Names one computation of an answer. No two have the same.
    package typealias Run = UInt64

    package enum Arrival: Sendable {
        case hit(Answer)
        case leads(Run)
        case joins(Run)
        case alone
        /// A run that it was not compared with: compare the contents, and arrive again.
        case compare(Run, Content)
    }

    /// The bounds of what is kept.
    package struct Limits: Equatable, Sendable {
        /// Bytes of finished answers; 0: none is kept.
        package var capacity: Int
        package var age: Duration

        package init(capacity: Int, age: Duration) {
            self.capacity = capacity
            self.age = age
        }
    }

    /// The numbers for metrics.
    package struct Usage: Equatable, Sendable {
        /// Finished answers that are kept, and their bytes.
        package var answers = 0
        package var bytes = 0
        /// Requests that were given a finished answer, those that were given another's when it was there, and those
        /// that computed their own. Whoever left before is in none of them.
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

    /// From now on other limits hold, for what is kept already too.
    package mutating func use(_ limits: Limits) {
        store.age = limits.age
        store.capacity = limits.capacity
    }

    /// True if finished answers are kept.
    package var keeps: Bool { store.capacity > 0 }

    package var usage: Usage {
        Usage(answers: store.count, bytes: store.bytes, hits: hits, joined: joined, misses: misses)
    }

    /// The number of answers that are being computed.
    package var runs: Int { underWay.count }

    /// A request came. Contents may be long, so they are compared elsewhere, and it comes again with the result.
    /// - Parameter compared: the run with whose content its own was compared; nil for none.
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

    /// One of those that wait for an answer no longer wants it.
    /// - Returns: true if nobody does: the work is to be cancelled, and who asks from now on computes it again.
    package mutating func leave(_ run: Run, _ key: SipHash.Key) -> Bool {
        guard var under = underWay[key], under.run == run else { return false }
        under.members -= 1
        underWay[key] = under.members == 0 ? nil : under
        return under.members == 0
    }

    /// The work on an answer ended.
    /// - Parameters:
    ///   - others: the number of requests that waited for it beside the one that it was computed for.
    ///   - isShared: true if they get it; otherwise each computes its own.
    ///   - kept: the answer, with its bytes, if it may be given again; nil otherwise.
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
