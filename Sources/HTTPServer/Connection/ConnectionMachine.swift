/// The state of one connection as a pure value: each event, with its time, returns the next action. It has no socket,
/// no bytes and no clock.
///
/// ```
///                                   refused or answered at once, fault
///              ┌──────────────────────────────────────────────────────────┐
///              │             ┌────────────────────────────┐               │
///              │             │           fault            ▼               │
///   idle ──▶ head ──▶ body ◀──▶ waiting     handling ──▶ answering ◀──────┘
///    ▲         │        │      (for the        ▲          │   │   │
///    │         │        │       byte budget)   │          │   │   │
///    │         │        └──────────────────────┤          │   │   │
///    │         └───────────────────────────────┘          │   │   │
///    │            (no body, or the body is whole)         │   │   │
///    ├────────────────── kept alive ──────────────────────┘   │   │
///    └────── skipping ◀── a short refused body is left ───────┘   │
///               │                                                 │
///               ▼ too long, too slow                              │
///  closed ◀── closing ◀── lingering ◀── Connection: close ────────┘
/// ```
///
/// | phase | waits for | timer, and what happens when it rings |
/// | --- | --- | --- |
/// | idle | the first byte of a request | idle (before the first request: header) timeout: closed |
/// | head | the end of the head | header timeout: 408 |
/// | body | the rest of the body | a window of `bodyGrace` with too few bytes, or the body's time: 408 |
/// | waiting | room for the body's bytes | budget timeout: 503 |
/// | handling | the answer | none |
/// | answering | the answer being taken | no progress for the write timeout: closed |
/// | skipping | the rest of a refused body | as body, but closed: the answer has been sent |
/// | lingering | the client's FIN | linger timeouts: closing |
/// | closing | the client taking what the socket holds | none: the loop looks at the socket (`EventLoop+Unread`) |
/// | closed | nothing | |
///
/// The client's FIN ends idle and lingering, is answered 400 in head and body, and does not end handling: it may be a
/// half-close. HTTP/1.1 is probed with 102, once; a client that still exists reads it and waits on, the kernel of one
/// that does not answers RST, which ends every phase. HTTP/1.0 knows no interim responses, so there FIN is taken for
/// the end. Without `probesHalfClosed` nothing is sent, and who has half-closed counts as there.
///
/// A connection that ends normally is not closed before its client has taken what the socket holds: a closed socket
/// that still holds an answer cannot be seen or counted any more.
package struct ConnectionMachine: Sendable {
    /// The phase of the connection's life; see the type's table.
    package enum Phase: Sendable, Hashable {
        case idle, head, body, waiting, handling, answering, skipping, lingering, closing, closed
    }

    /// The phase with what counts in it alone.
    private enum State: Sendable {
        case idle
        /// `isTaken`: the head is complete, and its answer is due.
        case head(isTaken: Bool)
        case body(BodyTime)
        case waiting(BodyTime, since: UInt64)
        case handling
        case answering(then: Next)
        case skipping(BodyTime)
        case lingering(end: UInt64, bytes: UInt64)
        case closing
        case closed
    }

    /// The action after the answer that is being sent.
    private enum Next: Sendable {
        case request, skip, linger, close
    }

    /// The time that a body has.
    private struct BodyTime: Sendable {
        /// The time when it is up.
        var end: UInt64
        /// The body's bytes since the window was opened.
        var windowBytes: UInt64 = 0
        /// The time when a body that has found no room since its last byte came is given up; 0 if it has not waited
        /// since.
        var waitEnd: UInt64 = 0
    }

    private var state = State.idle
    /// The phase.
    package var phase: Phase {
        switch state {
        case .idle: .idle
        case .head: .head
        case .body: .body
        case .waiting: .waiting
        case .handling: .handling
        case .answering: .answering
        case .skipping: .skipping
        case .lingering: .lingering
        case .closing: .closing
        case .closed: .closed
        }
    }
    /// The time when to call `timerFired`, in the clock of the events; nil for never.
    package private(set) var deadline: UInt64?
    /// True if the client has closed its side.
    package private(set) var peerFinished = false
    /// Requests answered so far.
    package private(set) var answeredRequests = 0
    /// The body's bytes so far.
    package private(set) var bodyBytes: UInt64 = 0

    private var traits = RequestTraits()
    /// True if the client is certain to send the body of a request that is answered without it. One that expects 100
    /// (Continue) may or may not: it need not wait for the answer (RFC 9110, 10.1.1), and what it sends next could be
    /// the body or another request. Nothing but bytes of the body that have already arrived decides.
    private var bodyIsCertain = false
    /// The connection was idle when the server began to shut down.
    private var isDraining = false
    /// The maximum length of the body; of a refused one, the maximum that is skipped to keep the connection.
    package private(set) var maxBody: UInt64 = 0

    /// A connection that was accepted at `now`.
    package init(policy: ConnectionPolicy, now: UInt64) {
        deadline = now &+ policy.headerTimeout
    }

    /// Bytes of the body that are missing: nil if that is not known (chunked).
    package var bodyRemaining: UInt64? {
        traits.bodyLength.map { $0 - min(bodyBytes, $0) }
    }

    // MARK: Reading a request

    /// The first byte of a head arrived.
    package mutating func headStarted(policy: ConnectionPolicy, now: UInt64) {
        guard case .idle = state else { return }
        state = .head(isTaken: false)
        // The first request's time began with the connection.
        if answeredRequests > 0 { deadline = now &+ policy.headerTimeout }
    }

    /// The head is complete and the application accepts the request, with a body of at most `maxBody` bytes.
    /// `buffered`: bytes of the body have already arrived, so that 100 (Continue) has no purpose (RFC 9110, 10.1.1).
    package mutating func headAccepted(
        _ traits: RequestTraits, maxBody: UInt64, buffered: Bool, policy: ConnectionPolicy, now: UInt64
    ) -> ConnectionAction {
        guard begin(traits) else { return .wait }
        self.maxBody = maxBody
        guard traits.bodyLength != 0 else { return dispatch() }
        if let length = traits.bodyLength, length > maxBody {
            return .fail(.bodyTooLarge(limit: maxBody, declared: length))
        }
        state = .body(window(BodyTime(end: now &+ policy.bodyTimeout), policy, now))
        return .readBody(sendContinue: traits.expectsContinue && !traits.isHTTP10 && !buffered)
    }

    /// The head is complete and the application has answered it at once: `answered` is next. A body of at most
    /// `maxBody` bytes is skipped, so that the connection can be kept. `buffered`: bytes of the body have already
    /// arrived.
    package mutating func headRefused(_ traits: RequestTraits, maxBody: UInt64, buffered: Bool = false) {
        guard begin(traits) else { return }
        self.maxBody = maxBody
        if buffered { bodyIsCertain = true }
    }

    /// The head is malformed or will not be completed; `isHead`: the method of the request is known to be HEAD. The
    /// answer to the fault is next.
    package mutating func headFailed(isHead: Bool) {
        if case .head(isTaken: true) = state { return }
        _ = begin(RequestTraits(isHead: isHead))
    }

    /// `count` bytes of the body arrived (without its coding). `announced`: the number of bytes that are still to come
    /// of the same chunk.
    package mutating func bodyReceived(_ count: UInt64, announced: UInt64 = 0) -> ConnectionAction {
        guard case .body(var time) = state else { return .wait }
        bodyBytes &+= count
        time.windowBytes &+= count
        if count > 0 { time.waitEnd = 0 }
        state = .body(time)
        if bodyBytes > maxBody { return .fail(.bodyTooLarge(limit: maxBody, declared: nil)) }
        if announced > maxBody &- bodyBytes { return .fail(.chunkTooLarge(limit: maxBody, size: announced)) }
        return bodyRemaining == 0 ? dispatch() : .wait
    }

    /// The last chunk and the trailers arrived.
    package mutating func bodyEnded() -> ConnectionAction {
        guard case .body = state else { return .wait }
        return dispatch()
    }

    /// There is no room in the byte budget: nothing is read until `budgetFreed`.
    package mutating func budgetExhausted(policy: ConnectionPolicy, now: UInt64) {
        guard case .body(var time) = state else { return }
        // A body that is offered too little room several times waits no longer than others.
        if time.waitEnd == 0 { time.waitEnd = now &+ policy.bodyBudgetTimeout }
        state = .waiting(time, since: now)
        deadline = time.waitEnd
    }

    /// There is room again. The measurement of the client's rate starts again, because the client did not cause the
    /// pause.
    package mutating func budgetFreed(policy: ConnectionPolicy, now: UInt64) -> ConnectionAction {
        guard case .waiting(var time, let since) = state else { return .wait }
        time.end = time.end &+ (now &- since)
        state = .body(window(time, policy, now))
        return .readBody(sendContinue: false)
    }

    /// The body is refused because faster ones need its room or its connection.
    package func bodyEvicted() -> ConnectionAction {
        switch phase {
        case .body: .fail(.slowestBody)
        case .waiting: .fail(.noBudget)
        default: .wait
        }
    }

    // MARK: Answering

    /// There is an answer: the handler's, the application's on sight of the head, or that to a fault or malformed bytes
    /// (`fault`: nothing that follows on this connection is taken for a request). Says how to send it.
    package mutating func answered(
        wantsClose: Bool, fault: Bool, draining: Bool, policy: ConnectionPolicy, now: UInt64
    ) -> AnswerPlan {
        let hadRequest: Bool
        var rest = bodyRemaining ?? 1
        switch state {
        case .idle: hadRequest = false
        case .head(let isTaken): hadRequest = isTaken
        case .handling: (hadRequest, rest) = (true, 0)
        default: hadRequest = true
        }
        answeredRequests += 1
        var keep = !fault && !wantsClose && !draining && traits.keepAlive && answeredRequests < policy.maxRequests
        if rest > 0 && (rest > maxBody || !bodyIsCertain) { keep = false }
        let next: Next
        if keep {
            next = rest > 0 ? .skip : .request
        } else if peerFinished || (!fault && rest == 0 && !traits.keepAlive) {
            // The client sends nothing more, or said that it would not: nothing can arrive after the close and make
            // the kernel answer it with RST, which would take the answer away from the client.
            next = .close
        } else {
            next = .linger
        }
        if phase != .closed {
            state = .answering(then: next)
            deadline = now &+ policy.writeTimeout
        }
        return AnswerPlan(
            keepAlive: keep, sayKeepAlive: keep && traits.isHTTP10, omitBody: hadRequest && traits.isHead)
    }

    /// The socket takes no more bytes at the moment. While the connection is idle or reads a head (answers of pipelined
    /// requests were put together), reading ends until they are sent, so that what is held stays bounded.
    package mutating func outputBlocked(policy: ConnectionPolicy, now: UInt64) {
        switch phase {
        case .idle, .head:
            state = .answering(then: .request)
            deadline = now &+ policy.writeTimeout
        case .answering: deadline = now &+ policy.writeTimeout
        default: break
        }
    }

    /// The whole answer was handed to the socket (or stands before it with those of pipelined requests).
    package mutating func answerSent(policy: ConnectionPolicy, now: UInt64) -> ConnectionAction {
        guard case .answering(let next) = state else { return .wait }
        switch next {
        case .request:
            state = .idle
            deadline = now &+ policy.idleTimeout
            return .readHead
        case .skip:
            state = .skipping(window(BodyTime(end: now &+ policy.bodyTimeout), policy, now))
            return .skipBody
        case .linger:
            if peerFinished { return finish(.finished) }
            let end = now &+ policy.lingerTotal
            state = .lingering(end: end, bytes: 0)
            deadline = min(end, now &+ policy.lingerTimeout)
            return .linger
        case .close:
            return finish(.finished)
        }
    }

    /// `count` bytes were thrown away, in `skipping` or `lingering`. `ended`: the last chunk was among them.
    package mutating func discarded(
        _ count: UInt64, ended: Bool = false, policy: ConnectionPolicy, now: UInt64
    ) -> ConnectionAction {
        switch state {
        case .skipping(var time):
            bodyBytes &+= count
            time.windowBytes &+= count
            state = .skipping(time)
            guard bodyRemaining == 0 || ended else {
                // Chunks do not say how many they will be.
                return bodyBytes > maxBody ? finish(.finished) : .wait
            }
            state = .idle
            deadline = now &+ policy.idleTimeout
            return .readHead
        case .lingering(let end, let bytes):
            state = .lingering(end: end, bytes: bytes &+ count)
            if bytes &+ count > policy.lingerBytes { return finish(.finished) }
            deadline = min(end, now &+ policy.lingerTimeout)
            return .wait
        default:
            return .wait
        }
    }

    // MARK: The client's end, and the clock

    /// The client ended its side: FIN. `unread`: bytes of it that are buffered and not yet looked at.
    package mutating func peerEnded(
        unread: Bool, policy: ConnectionPolicy, now: UInt64
    ) -> ConnectionAction {
        let first = !peerFinished
        peerFinished = true
        switch state {
        case .idle: return unread ? .wait : finish(.finished)
        case .head: return .fail(.headTruncated)
        case .body: return .fail(.bodyTruncated)
        case .handling:
            guard first, policy.probesHalfClosed else { return .wait }
            return traits.isHTTP10 ? close(.clientGone) : .probe
        case .skipping, .lingering: return finish(.finished)
        case .answering(let next):
            if next == .skip || next == .linger { state = .answering(then: .close) }
            return .wait
        case .waiting, .closing, .closed: return .wait
        }
    }

    /// The connection is broken: RST, or an error of the socket.
    package mutating func peerVanished() -> ConnectionAction {
        switch phase {
        case .closed: .wait
        case .idle, .lingering, .skipping, .closing: close(.finished)
        default: close(.clientGone)
        }
    }

    /// `deadline` may have passed.
    package mutating func timerFired(policy: ConnectionPolicy, now: UInt64) -> ConnectionAction {
        guard let deadline, now >= deadline else { return .wait }
        switch state {
        case .idle: return finish(isDraining ? .drained : .idle)
        case .head: return .fail(.slowHead)
        case .waiting: return .fail(.noBudget)
        case .answering: return close(.slowReader)
        case .lingering: return finish(.finished)
        case .body(let time):
            let isLate = now >= time.end
            if isLate || time.windowBytes < policy.bodyBytesPerGrace { return .fail(isLate ? .lateBody : .slowBody) }
            state = .body(window(time, policy, now))
            return .wait
        case .skipping(let time):
            if now >= time.end || time.windowBytes < policy.bodyBytesPerGrace { return finish(.finished) }
            state = .skipping(window(time, policy, now))
            return .wait
        case .handling, .closing, .closed: return .wait
        }
    }

    /// The server shuts down: an idle connection is closed.
    ///
    /// But not where an answer has just been sent: the client may be sending its next request, which would find the
    /// connection closed (RFC 9112, 9.5). It has a moment for it, and is answered with `Connection: close`.
    package mutating func drain(policy: ConnectionPolicy, now: UInt64) -> ConnectionAction {
        guard case .idle = state else { return .wait }
        isDraining = true
        guard answeredRequests > 0, let deadline else { return close(.drained) }
        let end = min(deadline &- policy.idleTimeout, now) &+ Self.lastRequestTime
        guard end > now else { return close(.drained) }
        self.deadline = end
        return .wait
    }

    /// For how long after an answer the next request is waited for in a shutdown, in nanoseconds.
    private static let lastRequestTime: UInt64 = 100_000_000

    /// Ends the connection: it is closed once the client has taken what the socket holds.
    package mutating func finish(_ ending: ConnectionEnding) -> ConnectionAction {
        state = .closing
        deadline = nil
        return .finish(ending)
    }

    /// Closes the connection in any state.
    package mutating func close(_ ending: ConnectionEnding) -> ConnectionAction {
        state = .closed
        deadline = nil
        return .close(ending)
    }

    // MARK: Helpers

    /// False: a head is not expected now, and the event changes nothing.
    private mutating func begin(_ traits: RequestTraits) -> Bool {
        guard phase == .idle || phase == .head else { return false }
        self.traits = traits
        bodyIsCertain = !traits.expectsContinue
        bodyBytes = 0
        state = .head(isTaken: true)
        return true
    }

    private mutating func dispatch() -> ConnectionAction {
        state = .handling
        deadline = nil
        return .dispatch
    }

    /// The time of a body with a new window, in which enough of it must come.
    private mutating func window(_ time: BodyTime, _ policy: ConnectionPolicy, _ now: UInt64) -> BodyTime {
        deadline = min(now &+ policy.bodyGrace, time.end)
        return BodyTime(end: time.end, waitEnd: time.waitEnd)
    }
}
