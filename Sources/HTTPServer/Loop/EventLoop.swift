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
    /// CLOCK_MONOTONIC when this turn began.
    var now: UInt64
    var connections = ConnectionTable()
    /// The places of connections: ordinary and reserved ones.
    var places = Places()
    /// The connections that may be closed for others.
    var eviction = EvictionMachine()

    /// The receive buffer of all connections; bytes that are not consumed are copied out. It has room for the most that
    /// a connection may keep and for `receiveSize` more bytes.
    let scratch: UnsafeMutableRawBufferPointer
    var answers: ResponseRenderer
    /// The parser of heads that arrive whole. A connection with an incomplete head takes this parser and the loop gets
    /// a new one.
    var parser: RequestParser
    var identifiers = RequestIdentifier()

    var timers: LoopTimers
    /// Connections whose body waits for room under the byte budget.
    var starved = WaitingBodies()
    /// The refusal of bodies while others wait for room.
    var shortage = BodyShortage()
    /// Connections that have used up their time slice.
    var backlog = Backlog()
    /// The rest of the time slice of the connection that is being advanced: a number of heads, and the end (0: not
    /// started).
    var timeSlice = (heads: 0, end: UInt64(0))
    /// The measurements of the bytes of answers given to the kernel.
    var unread = UnreadAnswers()
    var accepting = Accepting()
    var shutdown = Shutdown()

    private init(_ context: LoopContext, epoll: Int32) {
        self.context = context
        self.epoll = epoll
        let configuration = context.configuration
        scratch = .allocate(byteCount: Self.largestLeftover(configuration) + Self.receiveSize, alignment: 64)
        answers = ResponseRenderer(serverName: configuration.serverName)
        parser = RequestParser(limits: configuration.wireLimits)
        now = csys_monotonic()
        timers = LoopTimers(now: now)
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
        if accepting.reserve >= 0 { csys_close(accepting.reserve) }
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
        if !shutdown.isStopped { answerMail() }
    }

    private func serve() {
        var events = [csys_event](repeating: csys_event(), count: 256)
        var messages: [LoopMessage] = []
        while !shutdown.isStopped {
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
            for (index, events) in accepting.ready { listenerReady(index, events: events) }
            accepting.ready.removeAll(keepingCapacity: true)
            resumeUnfinished()
            expireTimers()
            measureSockets()
            relieve()
            assignPlaces()
            resumeAccepting()
        }
    }

    /// Answers messages after a failure until the loop is stopped. The server's shutdown waits for an answer of every
    /// loop; this one answers like a loop without connections.
    private func answerMail() {
        var messages: [LoopMessage] = []
        while !shutdown.isStopped {
            if context.mailbox.prepareToSleep() { _ = csys_wait_readable(context.mailbox.descriptor, -1) }
            csys_eventfd_clear(context.mailbox.descriptor)
            context.mailbox.collect(into: &messages)
            for message in messages { receive(message) }
            messages.removeAll(keepingCapacity: true)
        }
    }

    private func wait(_ events: inout [csys_event]) -> Int32 {
        var timeout: Int32 = -1
        if !backlog.isEmpty || timers.isBehind || starved.isAsking || unread.isMeasuring
            || !context.mailbox.prepareToSleep()
        {
            timeout = 0
        } else if let next = nextTimer() {
            timeout = Int32(clamping: next / 1_000_000 &+ 1)
        }
        return csys_epoll_wait(epoll, &events, Int32(events.count), timeout)
    }

    private func nextTimer() -> UInt64? {
        var next = timers.wheel.timeUntilNext(now: now)
        for time in [accepting.pausedUntil, places.searchAt, shortage.checkAt, unread.measureAt] {
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
            accepting.ready.append((Int(truncatingIfNeeded: event.data), event.events))
        case let registration:
            let descriptor = Int32(truncatingIfNeeded: event.data)
            guard let connection = connections[descriptor, UInt32(truncatingIfNeeded: registration)] else { return }
            socketReady(connection, events: event.events)
        }
    }

    /// The user data of the mailbox: no connection has this registration.
    static let mailData = UInt64(UInt32.max) << 32

    // MARK: Mail

    private func receive(_ message: LoopMessage) {
        switch message {
        case .completed(let descriptor, let registration, let response, let at):
            guard let connection = connections[descriptor, registration] else { return }
            handlerEnded(connection, response, at: at)
        case .budgetFreed:
            starved.memoryFreed()
        case .budgetShort:
            shortage.began(releases: context.budget.releases, policy: context.policy, now: now)
        case .shedReaders(let done):
            shed(mayAsk: false)
            done()
        case .otherLoopsDone:
            eviction.others = .shed
            shed()
            eviction.others = .notRequested
        case .countWithoutRequest(let tell):
            acceptAll()
            tell(newcomers())
        case .drain(let disarmed, let whenEmpty):
            stopAccepting()
            disarmed()
            drain(whenEmpty)
        case .stop(let done):
            shutdown.isStopped = true
            let lost = requestsInProgress()
            closeAll()
            done(lost)
        }
    }

    /// Continues connections with more work, in turn and for a bounded time: accepted bodies before refused ones.
    private func resumeUnfinished() {
        feedStarved()
        guard !backlog.isEmpty else { return }
        var time = csys_monotonic()
        var end = time &+ Backlog.unfinishedTime
        while time < end, let id = backlog.unfinished.popFirst() { resume(id, &time) }
        end = time &+ Backlog.discardingTime
        while time < end, let id = backlog.discarding.popFirst() { resume(id, &time) }
    }

    private func resume(_ id: Int32, _ time: inout UInt64) {
        guard let connection = connections[id] else { return }
        advance(connection, .later, from: time)
        synchronize(connection)
        time = csys_monotonic()
    }

    private func expireTimers() {
        timers.beginTurn(now: now)
        while let id = timers.next() { timerFired(id) }
    }
}

/// Connections with more work that wait for their turn.
struct Backlog {
    /// The time per turn for `unfinished` and for `discarding`, in nanoseconds.
    static let unfinishedTime: UInt64 = 1_000_000
    static let discardingTime: UInt64 = 250_000

    /// Connections that have more to read.
    var unfinished = IndexQueue()
    /// Connections that were answered and still send.
    var discarding = IndexQueue()

    var isEmpty: Bool { unfinished.count + discarding.count == 0 }

    mutating func remove(_ id: Int32) {
        unfinished.remove(id)
        discarding.remove(id)
    }
}
