import CSystem
import Glibc
import HTTPWire
import SystemSupport

/// One thread with one epoll instance. It accepts, receives, parses, answers and times out, and blocks only in
/// epoll_wait.
///
/// Connections are registered once, **edge-triggered**, for all events (`IN`, `OUT`, `RDHUP`): no request needs an
/// epoll_ctl call. If a connection must not be read at the moment (its body waits for room, its read-ahead is full),
/// the loop does not read it. epoll does not repeat that bytes are available, but it still reports FIN and RST; so the
/// loop notices when a client disconnects during its request. Edge-triggering requires that a socket is read until it
/// is empty. This takes no extra call: a read that returns fewer bytes than requested has emptied a stream socket
/// (epoll(7), question 9), unless FIN was reported; then one more read confirms it. Listeners are level-triggered: they
/// are few, and a backlog that is left for the next turn must be reported again.
///
/// **Fair scheduling.** The loop serves an event at once for a short time slice (`TimeSlice.first`), so that clients
/// with little work never wait for clients with much. Connections with more work wait in a queue and get longer time
/// slices in turn (round robin). The queue gets a millisecond of each turn; connections that were answered and still
/// send get a quarter of a millisecond. So the time between two calls of epoll_wait is bounded, whatever the clients
/// do.
///
/// The class is divided by task: `EventLoop+Accepting`, `+Receiving`, `+Bodies`, `+Answering`, `+Sending`,
/// `+Unread`, `+Closing`, `+Relief`.
final class EventLoop {
    let context: LoopContext
    let epoll: Int32
    /// The connections, indexed by descriptor.
    var connections: [Connection?] = []
    var openCount = 0
    /// Connections beyond the limit, in reserved places.
    var reserved = ReservedPlaces()
    /// The time of the next search for an ordinary place; nil if no request waits for one.
    var placesAt: UInt64?
    /// The `now` of the turn in which no connection could be evicted.
    var noRoomAt: UInt64?
    var lastRegistration: UInt32 = 0

    /// The receive buffer of all connections; bytes that are not consumed are copied out. It has room for the most that
    /// a connection may keep and for `receiveSize` more bytes.
    let scratch: UnsafeMutableRawBufferPointer
    /// The maximum of bytes received by one call, after the kept start of a head in `scratch`.
    let receiveSize = 64 << 10
    /// The maximum of bytes received by one call while a head is expected. Body bytes that arrive with the head are
    /// copied twice and are not yet counted in the byte budget; so few are read, and the rest is read directly into the
    /// body.
    let headSize = 16 << 10
    var answers: ResponseRenderer
    /// The parser of heads that arrive whole. A connection with an incomplete head takes this parser and the loop gets
    /// a new one.
    var parser: RequestParser
    var identifiers = RequestIdentifier()

    var wheel: TimerWheel
    /// Connections without a request, longest idle first.
    var idle = IndexQueue()
    /// Connections with an incomplete head, longest first.
    var heads = IndexQueue()
    /// Connections whose body waits for room under the byte budget.
    var starved = WaitingBodies()
    /// Connections that have more to read and have used up their time slice.
    var unfinished = IndexQueue()
    /// Connections that were answered and still send, and have used up their time slice.
    var discarding = IndexQueue()
    /// Connections that receive a body; the one with the least recent progress first.
    var bodies = IndexQueue()
    /// Connections with unread answers; the one with the least recent progress first.
    var readers = IndexQueue()
    /// Connections that were answered and still send.
    var leaving = IndexQueue()
    /// The bytes of answers given to the kernel, and the measurements of them.
    var unread = UnreadAnswers()
    /// The time when bodies are refused if there is still no room; nil if no body waits.
    var reliefAt: UInt64?
    /// The number of checks in succession that found no room.
    var shortages = 0
    /// `ByteBudget.releases` and the time of its last change.
    var lastReleases = (count: 0, since: UInt64(0))
    /// Connections whose timer has expired, and the number of them that were handled.
    var expired: [Int32] = []
    var expiredDone = 0

    /// The rest of the time slice of the connection that is being advanced: a number of heads, and the end (0: not
    /// started).
    var timeSlice = (heads: 0, end: UInt64(0))

    /// Listeners with pending connections in this turn.
    private var readyListeners: [(Int, UInt32)] = []

    /// CLOCK_MONOTONIC when this turn began.
    var now: UInt64
    /// A reserved file descriptor: when no other is free, it is closed to accept a client and refuse it.
    var reserve: Int32
    /// The time until which accepting is paused because it failed; nil if it is not paused.
    var acceptPause: UInt64?
    var isDraining = false
    var whenEmpty: (@Sendable () -> Void)?
    var isStopped = false

    private init(_ context: LoopContext, epoll: Int32) {
        self.context = context
        self.epoll = epoll
        let configuration = context.configuration
        scratch = .allocate(byteCount: Self.largestLeftover(configuration) + receiveSize, alignment: 64)
        answers = ResponseRenderer(serverName: configuration.serverName)
        parser = RequestParser(limits: configuration.wireLimits)
        now = csys_monotonic()
        wheel = TimerWheel(now: now)
        reserve = csys_open_reserve()
    }

    /// The most bytes that a connection keeps between two reads: the largest head without its last byte, or the
    /// read-ahead while a request runs. At least 192 KiB, which is far more than the usual limits need. (No byte limit
    /// of `WireLimits` above 2^28 has an effect.)
    private static func largestLeftover(_ configuration: HTTPServerConfiguration) -> Int {
        func bounded(_ bytes: Int) -> Int { min(max(bytes, 0), 1 << 28) }
        let limits = configuration.wireLimits
        let head = bounded(limits.requestLineBytes) + bounded(limits.headerBytes) + 16
        return max(head, bounded(configuration.maxReadAheadBytes), 192 << 10)
    }

    deinit {
        scratch.deallocate()
        csys_close(epoll)
        if reserve >= 0 { csys_close(reserve) }
    }

    /// Starts the loop on its own thread.
    static func start(_ context: LoopContext) throws(HTTPServerError) {
        let epoll = csys_epoll_create()
        guard epoll >= 0 else { throw .system(operation: "epoll_create1", errno: -epoll) }
        do throws(SystemError) {
            try SystemThread.start(context.name) { EventLoop(context, epoll: epoll).run() }
        } catch {
            csys_close(epoll)
            throw .system(operation: error.call, errno: error.number)
        }
    }

    // MARK: The turn

    private func run() {
        if register() { serve() }
        closeAll()
        if !isStopped { answerMail() }
    }

    private func serve() {
        var events = [csys_event](repeating: csys_event(), count: 256)
        var messages: [LoopMessage] = []
        while !isStopped {
            let count = wait(&events)
            now = csys_monotonic()
            guard count >= 0 else { return context.reportFailure(.system(operation: "epoll_wait", errno: -count)) }
            // Mail first: it holds answers, which free memory for the bytes that the sockets bring.
            context.mailbox.collect(into: &messages)
            for message in messages { receive(message) }
            messages.removeAll(keepingCapacity: true)
            for index in 0..<Int(count) { dispatch(events[index]) }
            // Accept last: the events above may have made a connection busy that would otherwise be evicted for a new
            // one.
            for (index, events) in readyListeners { listenerReady(index, events: events) }
            readyListeners.removeAll(keepingCapacity: true)
            resumeUnfinished()
            expireTimers()
            measureSockets()
            relieve()
            givePlaces()
            resumeAccepting()
        }
    }

    /// Answers messages after a failure until the loop is stopped. The server's shutdown waits for an answer of every
    /// loop; this one answers like a loop without connections.
    private func answerMail() {
        var messages: [LoopMessage] = []
        while !isStopped {
            if context.mailbox.prepareToSleep() { _ = csys_wait_readable(context.mailbox.descriptor, -1) }
            csys_eventfd_clear(context.mailbox.descriptor)
            context.mailbox.collect(into: &messages)
            for message in messages { receive(message) }
            messages.removeAll(keepingCapacity: true)
        }
    }

    private func wait(_ events: inout [csys_event]) -> Int32 {
        var timeout: Int32 = -1
        if unfinished.count + discarding.count + expired.count > 0 || starved.isAsking || unread.isMeasuring
            || !context.mailbox.prepareToSleep()
        {
            timeout = 0
        } else if let next = nextTimer() {
            timeout = Int32(clamping: next / 1_000_000 &+ 1)
        }
        return csys_epoll_wait(epoll, &events, Int32(events.count), timeout)
    }

    private func nextTimer() -> UInt64? {
        var next = wheel.untilNext(now: now)
        for time in [acceptPause, placesAt, reliefAt, unread.measureAt] {
            guard let time else { continue }
            next = min(next ?? .max, time > now ? time - now : 0)
        }
        return next
    }

    private func register() -> Bool {
        let mailbox = csys_epoll_add(epoll, context.mailbox.descriptor, CSYS_EPOLL_IN, Self.mailData)
        guard mailbox >= 0 else {
            context.reportFailure(.system(operation: "epoll_ctl", errno: -mailbox))
            return false
        }
        return armListeners()
    }

    private func dispatch(_ event: csys_event) {
        switch event.data >> 32 {
        case UInt64(UInt32.max):
            csys_eventfd_clear(context.mailbox.descriptor)
        case 0:
            readyListeners.append((Int(truncatingIfNeeded: event.data), event.events))
        case let registration:
            let descriptor = Int(truncatingIfNeeded: event.data & 0xFFFF_FFFF)
            guard descriptor < connections.count, let connection = connections[descriptor],
                UInt64(connection.registration) == registration
            else { return }
            socketReady(connection, events: event.events)
        }
    }

    /// The user data of the mailbox: no connection has this registration.
    static let mailData = UInt64(UInt32.max) << 32

    // MARK: Mail

    private func receive(_ message: LoopMessage) {
        switch message {
        case .completed(let descriptor, let registration, let response, let at):
            guard Int(descriptor) < connections.count, let connection = connections[Int(descriptor)],
                connection.registration == registration
            else { return }
            handlerEnded(connection, response, at: at)
        case .budgetFreed:
            starved.roomCameBack()
        case .budgetShort:
            guard reliefAt == nil else { break }
            reliefAt = now &+ context.policy.bodyPatience
            lastReleases = (context.budget.releases, now)
        case .shedReaders(let done):
            shed(asking: false)
            done()
        case .othersShed:
            unread.others = .shed
            shed()
            unread.others = .unasked
        case .countNewcomers(let tell):
            acceptAll()
            tell(newcomers())
        case .drain(let disarmed, let whenEmpty):
            stopAccepting()
            disarmed()
            drain(whenEmpty)
        case .stop(let done):
            isStopped = true
            let lost = requestsInProgress()
            closeAll()
            done(lost)
        }
    }

    /// Continues connections with more work, in turn and for a bounded time: accepted bodies before refused ones.
    private func resumeUnfinished() {
        feedStarved()
        guard unfinished.count + discarding.count > 0 else { return }
        var time = csys_monotonic()
        var end = time &+ Self.unfinishedTime
        while time < end, let id = unfinished.popFirst() { resume(id, &time) }
        end = time &+ Self.discardingTime
        while time < end, let id = discarding.popFirst() { resume(id, &time) }
    }

    private func resume(_ id: Int32, _ time: inout UInt64) {
        guard let connection = connections[Int(id)] else { return }
        advance(connection, .later, from: time)
        synchronize(connection)
        time = csys_monotonic()
    }

    /// The time per turn for `unfinished` and for `discarding`, in nanoseconds.
    private static let unfinishedTime: UInt64 = 1_000_000
    private static let discardingTime: UInt64 = 250_000

    /// Handles expired timers, at most 256 per turn.
    private func expireTimers() {
        wheel.expire(now: now, into: &expired)
        let end = min(expired.count, expiredDone + 256)
        while expiredDone < end {
            timerFired(expired[expiredDone])
            expiredDone += 1
        }
        guard expiredDone == expired.count else { return }
        expired.removeAll(keepingCapacity: true)
        expiredDone = 0
    }
}
