import CSystem
import Glibc
import HTTPWire
import SystemSupport

/// One thread, one epoll: accepts, receives, parses, answers and times out, and never blocks anywhere but in
/// epoll_wait.
///
/// Connections are registered **edge-triggered**, once, for everything (`IN`, `OUT`, `RDHUP`): no request costs an
/// epoll_ctl call. A connection that is not to be read at the moment (its body waits for room, its read-ahead is full)
/// is just not read; epoll says nothing more about bytes that it has announced, yet still announces FIN and RST, which
/// is how a vanished client is noticed while its request runs. The price, that an edge must be used up, is paid without
/// further calls: a read that returns less than it had room for has emptied a stream socket (epoll(7), question 9),
/// unless FIN was announced, which a further read then confirms. Listeners are level-triggered: they are few, and a
/// backlog that is left for the next turn must not be forgotten.
///
/// **Fair scheduling.** What an event brings is served at once for a short time slice (`TimeSlice.first`), so that a
/// client that asks for little is never behind those that ask for much. Connections with more left wait in a queue and
/// get longer time slices in turn (round robin). The queue gets a millisecond of each turn; connections that have been
/// answered and only send on get a quarter of one. So the time between two calls of epoll_wait is bounded, whatever the
/// clients do.
///
/// The class is split by what it deals with: `EventLoop+Accepting`, `+Receiving`, `+Bodies`, `+Answering`, `+Sending`,
/// `+Unread`, `+Closing`, `+Relief`.
final class EventLoop {
    let context: LoopContext
    let epoll: Int32
    /// By descriptor.
    var connections: [Connection?] = []
    var openCount = 0
    /// Connections beyond the limit.
    var reserved = ReservedPlaces()
    /// The time when an ordinary place is looked for again; nil if no request waits for one.
    var placesAt: UInt64?
    /// `now` of the turn in which no connection could be closed for another.
    var noRoomAt: UInt64?
    var lastRegistration: UInt32 = 0

    /// Heads are received here, whichever connection they are of; what is not consumed is copied out. It always has
    /// room for what a connection may keep, and for `receiveSize` bytes more.
    let scratch: UnsafeMutableRawBufferPointer
    /// Room in `scratch` for what is received in one go, beside the beginning of a head that was kept.
    let receiveSize = 64 << 10
    /// The same where a head is expected. What comes of a body with it is copied twice until it is where it stays, and
    /// takes memory before there is room for the body: little of it is received, and the rest straight into the body.
    let headSize = 16 << 10
    var answers: ResponseRenderer
    /// Parses heads that arrive whole; one that does not takes the parser with it.
    var parser: RequestParser
    var identifiers = RequestIdentifier()

    var wheel: TimerWheel
    /// Connections without a request, the one that is so for longest first.
    var idle = IndexQueue()
    /// Connections with half a head.
    var heads = IndexQueue()
    /// Connections whose body waits for room under the byte budget.
    var starved = WaitingBodies()
    /// Connections that have more to read, and have used up their time slice.
    var unfinished = IndexQueue()
    /// The same of those that have been answered and only send on.
    var discarding = IndexQueue()
    /// Connections that receive a body, the one first that has brought the least lately.
    var bodies = IndexQueue()
    /// Connections that have not taken their answers, the one first that has taken the least lately.
    var readers = IndexQueue()
    /// Connections that have been answered and only send on.
    var leaving = IndexQueue()
    /// The bytes of answers that the kernel was given, and what is known of them.
    var unread = UnreadAnswers()
    /// The time when bodies are given up if there is still no room.
    var reliefAt: UInt64?
    /// The number of checks in succession that found no room.
    var shortages = 0
    /// `ByteBudget.releases`, and since when it is that.
    var lastReleases = (count: 0, since: UInt64(0))
    /// Connections whose timer has expired, and how many of them were dealt with.
    var expired: [Int32] = []
    var expiredDone = 0

    /// The rest of the time slice of the connection that is being advanced: heads, and until when (0: not begun).
    var timeSlice = (heads: 0, end: UInt64(0))

    /// Listeners that have connections, in this turn.
    private var readyListeners: [(Int, UInt32)] = []

    /// CLOCK_MONOTONIC when this turn began.
    var now: UInt64
    /// A file descriptor in reserve: when there are no others, it is freed to accept a client and refuse it.
    var reserve: Int32
    /// The time until which the kernel cannot accept; nil if it can.
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

    /// The most bytes that a connection keeps between two reads: the largest head but its last byte, or what is read
    /// ahead while a request runs. Never less than 192 KiB, which the usual limits stay far below. (`WireLimits`: no
    /// limit of bytes counts for more than 2^28.)
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
            // Mail first: it holds answers, which make room for what the sockets bring.
            context.mailbox.collect(into: &messages)
            for message in messages { receive(message) }
            messages.removeAll(keepingCapacity: true)
            for index in 0..<Int(count) { dispatch(events[index]) }
            // After the sockets: what they brought may have made busy who would have had to make room.
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

    /// Answers messages after a failure, until the loop is stopped: the server's shutdown waits for an answer of every
    /// loop, and gets it as from one without connections.
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

    /// User data of the mailbox: no registration has this number.
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

    /// Goes on with those who have more left, in turn, for a bounded time: admitted bodies before refused ones.
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

    /// The time that `unfinished` and `discarding` get of each turn, in nanoseconds.
    private static let unfinishedTime: UInt64 = 1_000_000
    private static let discardingTime: UInt64 = 250_000

    /// Deals with those whose time has come, at most a few hundred a turn.
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
