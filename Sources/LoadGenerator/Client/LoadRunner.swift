internal import CSystem
internal import Glibc
internal import SystemSupport

/// Generates one load on one thread, with one epoll for all connections. ``run()`` blocks the calling thread for the
/// whole time.
///
/// In an open loop, a due request takes an idle or a new connection or, if the maximum is reached, waits for the next
/// free one; its latency counts from the due time. In a closed loop, each connection sends a request as soon as it has
/// the previous answer.
final class LoadRunner {
    let plan: LoadPlan
    let address: ServerAddress
    let requests: [RequestBytes]
    var result: StepResult

    let epoll: Int32
    let timer: Int32
    /// Indexed by descriptor.
    var connections: [ClientConnection?] = []
    var openCount = 0
    var busyCount = 0
    /// Connections without a request. The last one used is used first, so that surplus connections are closed by the
    /// server.
    var idle: [ClientConnection] = []
    var lastRegistration: UInt32 = 0
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 64)

    // The times of the run, on CLOCK_MONOTONIC.
    var measureFrom: UInt64 = 0
    var end: UInt64 = 0
    var now: UInt64 = 0
    /// The index of the next request of an open loop, and of the next picture.
    private var next = 0
    private var picture = 0
    /// Requests with lower indices found all connections busy when they were due.
    private var blocked = 0
    private var schedule = SendSchedule(start: 0, rate: 1)
    /// The time before which no new connection is tried, after a failure.
    private var connectAfter: UInt64 = 0
    private let isStopped: () -> Bool

    /// - Parameters:
    ///   - requests: the requests, sent in turn; at least one.
    ///   - isStopped: called several times a second; ends the run early if it returns true.
    init(
        plan: LoadPlan, address: ServerAddress, requests: [RequestBytes], isStopped: @escaping () -> Bool = { false }
    ) throws(LoadError) {
        guard !requests.isEmpty else { throw LoadError("no request to send") }
        self.plan = plan
        self.address = address
        self.requests = requests
        self.isStopped = isStopped
        result = StepResult(plan: plan)
        epoll = csys_epoll_create()
        timer = csys_timerfd()
        let made = min(epoll, timer)
        let ready = made < 0 ? made : csys_epoll_add(epoll, timer, CSYS_EPOLL_IN, Self.timerData)
        guard ready >= 0 else {
            throw LoadError("cannot create epoll and a timer: \(SystemError.words(-ready))")
        }
    }

    deinit {
        for connection in connections { if let connection { csys_close(connection.descriptor) } }
        if epoll >= 0 { csys_close(epoll) }
        if timer >= 0 { csys_close(timer) }
        buffer.deallocate()
    }

    private static let timerData = UInt64.max

    // MARK: The run

    func run() -> StepResult {
        csys_sharpen_timers()
        let cpuBefore = csys_thread_cpu()
        let start = csys_monotonic()
        now = start
        measureFrom = start &+ Self.nanoseconds(plan.warmUp)
        end = measureFrom &+ Self.nanoseconds(plan.seconds)
        if case .open(let rate) = plan.loop { schedule = SendSchedule(start: start, rate: rate) }
        /// The time until which answers are awaited; set at the end of the run.
        var last = UInt64.max
        var events = [csys_event](repeating: csys_event(), count: 256)
        var cpuFrom: UInt64?
        var nextLook = start
        var isEnding = false
        while true {
            now = csys_monotonic()
            if cpuFrom == nil, now >= measureFrom { cpuFrom = csys_thread_cpu() }
            // Requests due before the end are sent even if the loop reaches it late.
            if !isEnding { sendDue() }
            if !isEnding, now >= end || isStopped() {
                isEnding = true
                let cpu = csys_thread_cpu()
                result.generatorCPUSeconds = Double(cpu &- (cpuFrom ?? cpu)) / 1e9
                let measuredEnd = min(now, end)
                result.measuredSeconds = measuredEnd > measureFrom ? Double(measuredEnd - measureFrom) / 1e9 : 0
                end = measuredEnd
                // Counted from now, not from the planned end: a late loop has just sent requests.
                last = now &+ Self.nanoseconds(min(plan.timeout, 10))
            }
            if isEnding, busyCount == 0 || now >= last { break }
            if now >= nextLook {
                abandonLate()
                nextLook = now &+ 50_000_000
            }
            let count = csys_epoll_wait(epoll, &events, Int32(events.count), 50)
            guard count >= 0 else { break }
            now = csys_monotonic()
            for index in 0..<Int(count) { dispatch(events[index]) }
        }
        finish()
        result.totalCPUSeconds = Double(csys_thread_cpu() - cpuBefore) / 1e9
        return result
    }

    private func finish() {
        for case let connection? in connections where isUnanswered(connection) {
            fail(connection, .unanswered, "no answer when the run was over")
        }
        guard case .open = plan.loop else {
            result.due = result.sent
            return
        }
        let (first, total) = (schedule.count(before: measureFrom), schedule.count(before: end))
        result.due = max(0, total - first)
        // Requests that never got a connection: their latency is at least the time until now.
        guard next < total else { return }
        for index in max(next, first)..<max(next, first, total) {
            result.latency.record(now &- schedule.time(of: index))
            note(.unanswered, "no connection became free before the run was over", isMeasured: true)
        }
    }

    /// Abandons requests with a late answer.
    private func abandonLate() {
        let limit = Self.nanoseconds(plan.timeout)
        for case let connection? in connections {
            guard let request = connection.request, now > request.sentAt, now - request.sentAt > limit,
                isUnanswered(connection)
            else { continue }
            fail(connection, .timeout, "no answer within \(NumberText.decimal(plan.timeout)) s")
        }
    }

    /// True if the answer has not arrived. Reads the socket once more, because epoll may not have reported the answer
    /// yet: after this process was suspended (SIGCONT ends epoll_wait without events), or if more events are pending
    /// than one wait returns.
    private func isUnanswered(_ connection: ClientConnection) -> Bool {
        if connection.request != nil, connection.phase != .connecting { advance(connection) }
        return connection.request != nil
    }

    // MARK: Sending

    /// Sends due requests, as far as connections are available.
    private func sendDue() {
        switch plan.loop {
        case .closed:
            while now < end, let connection = ready() {
                start(connection, due: csys_monotonic(), hasWaited: false)
            }
        case .open:
            let due = min(schedule.due(by: now), schedule.count(before: end))
            while next < due {
                guard let connection = ready() else {
                    blocked = due
                    break
                }
                let index = next
                next += 1
                start(connection, due: schedule.time(of: index), hasWaited: index < blocked)
            }
            // If requests wait, the next answer wakes the loop; otherwise the timer does.
            if next >= due { csys_timerfd_set(timer, schedule.time(of: next)) }
        }
    }

    /// An idle connection, or a new one; nil if there is neither.
    private func ready() -> ClientConnection? {
        if let connection = idle.popLast() { return connection }
        guard openCount < plan.connections, now >= connectAfter else { return nil }
        return open()
    }

    private func open() -> ClientConnection? {
        let descriptor = address.connect()
        guard descriptor >= 0 else {
            connectFailed(-descriptor)
            return nil
        }
        lastRegistration = lastRegistration &+ 1
        if lastRegistration == .max { lastRegistration = 1 }
        let connection = ClientConnection(descriptor: descriptor, registration: lastRegistration)
        let events = CSYS_EPOLL_IN | CSYS_EPOLL_OUT | CSYS_EPOLL_RDHUP | CSYS_EPOLL_EDGE
        let added = csys_epoll_add(epoll, descriptor, events, connection.userData)
        guard added >= 0 else {
            csys_close(descriptor)
            connectFailed(-added)
            return nil
        }
        while connections.count <= Int(descriptor) { connections.append(nil) }
        connections[Int(descriptor)] = connection
        openCount += 1
        result.opened += 1
        result.peakConnections = max(result.peakConnections, openCount)
        return connection
    }

    /// Handles the failure to connect: the request keeps waiting, and the next attempt follows after 10 ms.
    private func connectFailed(_ error: Int32) {
        connectAfter = now &+ 10_000_000
        if result.firstTrouble == nil { result.firstTrouble = "no connection: \(SystemError.words(error))" }
    }

    /// Sends a request on a connection. The answer is read when epoll reports it, so that quick answers on one
    /// connection do not delay the others.
    private func start(_ connection: ClientConnection, due: UInt64, hasWaited: Bool) {
        let isMeasured = due >= measureFrom
        let sentAt = csys_monotonic()
        // If all connections were busy, the delay is the server's; otherwise it is the generator's.
        if isMeasured {
            result.sent += 1
            let late = sentAt > due ? sentAt - due : 0
            if hasWaited { result.waitedForConnection += 1 } else { result.lateness.record(late) }
        }
        connection.request = ClientConnection.Request(
            due: due, sentAt: sentAt, picture: picture, isMeasured: isMeasured)
        picture = (picture + 1) % requests.count
        busyCount += 1
        guard connection.phase != .connecting else { return }
        connection.phase = .sending
        send(connection)
    }

    // MARK: Events

    private func dispatch(_ event: csys_event) {
        guard event.data != Self.timerData else {
            csys_eventfd_clear(timer)
            return
        }
        let descriptor = Int(event.data & 0xFFFF_FFFF)
        guard descriptor < connections.count, let connection = connections[descriptor],
            UInt64(connection.registration) == event.data >> 32
        else { return }
        if connection.phase == .connecting {
            let error = csys_socket_error(connection.descriptor)
            guard error == 0 else {
                fail(connection, .connect, "no connection: \(SystemError.words(-error))")
                connectAfter = now &+ 10_000_000
                return
            }
            // Only EPOLLOUT or an end is reported for a socket that is connecting.
            connection.phase = connection.request == nil ? .idle : .sending
        }
        if connection.request == nil {
            // The only relevant event of an idle connection is its end; other events are edges of bytes read before.
            guard event.events & (CSYS_EPOLL_RDHUP | CSYS_EPOLL_HUP | CSYS_EPOLL_ERR) != 0 else { return }
            idle.removeAll { $0 === connection }
            close(connection)
            return
        }
        advance(connection)
    }

    static func nanoseconds(_ seconds: Double) -> UInt64 { UInt64(max(0, min(seconds, 1e6)) * 1e9) }
}
