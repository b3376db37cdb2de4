/// The state of one connection as a value without I/O: each event, with its time, returns the next action. It has no
/// socket, no bytes and no clock.
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
/// | phase | waits for | timer, and the action when it expires |
/// | --- | --- | --- |
/// | idle | the first byte of a request | idle (before the first request: header) timeout: closed |
/// | head | the end of the head | header timeout: 408 |
/// | body | the rest of the body | a window of `bodyGrace` with too few bytes, or the body's time: 408 |
/// | waiting | room for the body's bytes | budget timeout: 503 |
/// | handling | the answer | none |
/// | answering | the client taking the answer | no progress for the write timeout: closed |
/// | skipping | the rest of a refused body | as for body, but closed: the answer has been sent |
/// | lingering | the client's FIN | linger timeouts: closing |
/// | closing | the client taking the bytes that the socket holds | none: the loop measures the socket (`EventLoop+Unread`) |
/// | closed | nothing | |
///
/// The client's FIN ends idle and lingering, and is answered with 400 in head and body. It does not end handling,
/// because it may be a half-close. An HTTP/1.1 client is probed once with 102: a client that still exists reads it and
/// keeps waiting; if it no longer exists, its kernel answers with RST, which ends every phase. HTTP/1.0 has no interim
/// responses, so there FIN is taken as the end. Without `probesHalfClosed` no probe is sent, and a client that has
/// closed its side is assumed to exist.
///
/// A connection that ends normally is not closed before its client has taken the bytes that the socket holds: an answer
/// in a closed socket cannot be measured or counted any more.
package struct ConnectionMachine: Sendable {
    /// A phase of the connection; see the table of `ConnectionMachine`.
    package enum Phase: Sendable, Hashable {
        case idle, head, body, waiting, handling, answering, skipping, lingering, closing, closed
    }

    /// The phase with the data that only this phase needs.
    private enum State: Sendable {
        case idle
        /// `isTaken`: the head is complete; its answer comes next.
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

    /// The action after the current answer is sent.
    private enum Next: Sendable {
        case request, skip, linger, close
    }

    /// The time limits of a body.
    private struct BodyTime: Sendable {
        /// The time when the whole body must have arrived.
        var end: UInt64
        /// The bytes of the body received since the window began.
        var windowBytes: UInt64 = 0
        /// The time when a body that waits for room is refused; 0 if it has not waited since its last byte.
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
    /// The time to call `timerFired`, on the clock of the events; nil if no timer is set.
    package private(set) var deadline: UInt64?
    /// True if the client has closed its side.
    package private(set) var peerFinished = false
    /// The number of requests answered.
    package private(set) var answeredRequests = 0
    /// The number of bytes of the body received.
    package private(set) var bodyBytes: UInt64 = 0

    private var traits = RequestTraits()
    /// True if the client is certain to send the body of a request that is answered without reading it. A client that
    /// expects 100 (Continue) may send it or not: it need not wait for the answer (RFC 9110, 10.1.1), and its next
    /// bytes could be the body or another request. Only body bytes that have already arrived make it certain.
    private var bodyIsCertain = false
    /// True if the connection was idle when the server began to shut down.
    private var isDraining = false
    /// The maximum length of the body. For a refused body: the maximum that is skipped to keep the connection.
    package private(set) var maxBody: UInt64 = 0

    /// A connection that was accepted at `now`.
    package init(policy: ConnectionPolicy, now: UInt64) {
        deadline = now &+ policy.headerTimeout
    }

    /// The number of missing bytes of the body; nil if unknown (chunked).
    package var bodyRemaining: UInt64? {
        traits.bodyLength.map { $0 - min(bodyBytes, $0) }
    }

    // MARK: Reading a request

    /// Begins a request: its first byte has arrived.
    package mutating func headStarted(policy: ConnectionPolicy, now: UInt64) {
        guard case .idle = state else { return }
        state = .head(isTaken: false)
        // The time of the first request began with the connection.
        if answeredRequests > 0 { deadline = now &+ policy.headerTimeout }
    }

    /// Begins the body, or handling: the head is complete and the application accepts a body of at most `maxBody`
    /// bytes. `buffered`: bytes of the body have already arrived, so 100 (Continue) is not needed (RFC 9110, 10.1.1).
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

    /// Ends the head: the application answers it at once, and `answered` must be called next. A body of at most
    /// `maxBody` bytes is skipped to keep the connection. `buffered`: bytes of the body have already arrived.
    package mutating func headRefused(_ traits: RequestTraits, maxBody: UInt64, buffered: Bool = false) {
        guard begin(traits) else { return }
        self.maxBody = maxBody
        if buffered { bodyIsCertain = true }
    }

    /// Ends a head that is malformed or will not be completed. `isHead`: the method is known to be HEAD. The answer to
    /// the fault must follow.
    package mutating func headFailed(isHead: Bool) {
        if case .head(isTaken: true) = state { return }
        _ = begin(RequestTraits(isHead: isHead))
    }

    /// Counts `count` bytes of the body (without its chunked coding). `announced`: the number of bytes that are missing
    /// from the current chunk.
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

    /// Ends a chunked body: the last chunk and the trailers have arrived.
    package mutating func bodyEnded() -> ConnectionAction {
        guard case .body = state else { return .wait }
        return dispatch()
    }

    /// Waits for room in the byte budget: nothing is read until `budgetFreed`.
    package mutating func budgetExhausted(policy: ConnectionPolicy, now: UInt64) {
        guard case .body(var time) = state else { return }
        // The limit counts from the first wait: a body that is offered too little room several times waits no longer
        // than others.
        if time.waitEnd == 0 { time.waitEnd = now &+ policy.bodyBudgetTimeout }
        state = .waiting(time, since: now)
        deadline = time.waitEnd
    }

    /// Continues after `budgetExhausted`. The measurement of the client's rate restarts, because the client did not
    /// cause the pause.
    package mutating func budgetFreed(policy: ConnectionPolicy, now: UInt64) -> ConnectionAction {
        guard case .waiting(var time, let since) = state else { return .wait }
        time.end = time.end &+ (now &- since)
        state = .body(window(time, policy, now))
        return .readBody(sendContinue: false)
    }

    /// Refuses the body, because faster bodies need its room or its connection.
    package func bodyEvicted() -> ConnectionAction {
        switch phase {
        case .body: .fail(.slowestBody)
        case .waiting: .fail(.noBudget)
        default: .wait
        }
    }

    // MARK: Answering

    /// Begins an answer: the handler's, the application's immediate answer to the head, or the answer to a fault
    /// (`fault`: no later bytes of this connection are parsed as a request). Returns how to send it.
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
            // The client sends nothing more, or has announced so: no bytes can arrive after the close. They would make
            // the kernel reply with RST, and the client could lose the answer.
            next = .close
        } else {
            next = .linger
        }
        if phase != .closed {
            state = .answering(then: next)
            deadline = now &+ policy.writeTimeout
        }
        return AnswerPlan(
            keepAlive: keep, sendsKeepAlive: keep && traits.isHTTP10, omitBody: hadRequest && traits.isHead)
    }

    /// Waits for the socket, which accepts no more bytes at the moment. If the connection is idle or reads a head
    /// (pipelined answers were collected), reading stops until the answers are sent, which limits the bytes held.
    package mutating func outputBlocked(policy: ConnectionPolicy, now: UInt64) {
        switch phase {
        case .idle, .head:
            state = .answering(then: .request)
            deadline = now &+ policy.writeTimeout
        case .answering: deadline = now &+ policy.writeTimeout
        default: break
        }
    }

    /// Ends an answer: all its bytes were given to the socket, or are collected with other pipelined answers.
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

    /// Counts `count` bytes discarded in `skipping` or `lingering`. `ended`: the last chunk was among them.
    package mutating func discarded(
        _ count: UInt64, ended: Bool = false, policy: ConnectionPolicy, now: UInt64
    ) -> ConnectionAction {
        switch state {
        case .skipping(var time):
            bodyBytes &+= count
            time.windowBytes &+= count
            state = .skipping(time)
            guard bodyRemaining == 0 || ended else {
                // The length of a chunked body is unknown until its end.
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

    /// Handles the client's FIN. `unread`: received bytes are buffered and not parsed yet.
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

    /// Handles a broken connection: RST or a socket error.
    package mutating func peerVanished() -> ConnectionAction {
        switch phase {
        case .closed: .wait
        case .idle, .lingering, .skipping, .closing: close(.finished)
        default: close(.clientGone)
        }
    }

    /// Handles an expired timer, if `deadline` has passed.
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

    /// Shuts down: an idle connection is closed.
    ///
    /// A connection whose answer was sent less than `lastRequestTime` ago stays open for the rest of that time: the
    /// client may be sending its next request, which would otherwise find the connection closed (RFC 9112, 9.5). That
    /// request is answered with `Connection: close`.
    package mutating func drain(policy: ConnectionPolicy, now: UInt64) -> ConnectionAction {
        guard case .idle = state else { return .wait }
        isDraining = true
        guard answeredRequests > 0, let deadline else { return close(.drained) }
        let end = min(deadline &- policy.idleTimeout, now) &+ Self.lastRequestTime
        guard end > now else { return close(.drained) }
        self.deadline = end
        return .wait
    }

    /// The time after an answer in which a shutdown waits for the next request, in nanoseconds.
    private static let lastRequestTime: UInt64 = 100_000_000

    /// Ends the connection: it is closed once the client has taken the bytes that the socket holds.
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

    /// Takes the traits of a head. Returns false, and changes nothing, if no head is expected now.
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

    /// The body's time with a new window, in which at least `bodyBytesPerGrace` bytes must arrive. Sets the deadline.
    private mutating func window(_ time: BodyTime, _ policy: ConnectionPolicy, _ now: UInt64) -> BodyTime {
        deadline = min(now &+ policy.bodyGrace, time.end)
        return BodyTime(end: time.end, waitEnd: time.waitEnd)
    }
}

/// The next action for the owner of a `ConnectionMachine`.
package enum ConnectionAction: Sendable, Hashable {
    /// Do nothing until the next event.
    case wait
    /// Read the next head: parse the buffered bytes or receive more.
    case readHead
    /// Receive the body. `sendContinue`: send 100 (Continue) first.
    case readBody(sendContinue: Bool)
    /// Receive and discard the rest of a refused body.
    case skipBody
    /// The request is complete: start its handler.
    case dispatch
    /// Answer this fault, as `ConnectionMachine.answered` specifies.
    case fail(ConnectionFault)
    /// Send 102 (Processing), at most once per request: the kernel of a client that no longer exists answers it with
    /// RST.
    case probe
    /// All bytes are sent: shut down the sending side, then receive and discard until the client closes its side.
    case linger
    /// Close the socket for this reason once the client has taken the bytes that the socket holds.
    case finish(ConnectionEnding)
    /// Close the socket and cancel the handler, if one runs.
    case close(ConnectionEnding)
}
