import CSystem
import Glibc
import SystemSupport

/// An HTTP/1.1 server on raw sockets.
///
/// ```swift
/// let server = HTTPServer(configuration: .init(), responder: MyResponder(), observer: nil)
/// let addresses = try server.start()
/// ...
/// let report = await server.shutdown(within: .seconds(30))
/// ```
///
/// - It receives complete requests, within limits, and answers those of a connection in the order of arrival.
/// - It cancels a handler whose client has disconnected.
/// - It does not route, compress or encrypt, and it does not stream bodies.
///
/// All methods may be called from any thread.
public final class HTTPServer: Sendable {
    private struct State {
        var started = false
        var stopped = false
        var loops: [LoopContext] = []
        var listeners: [[Listener]] = []
        var failure: HTTPServerError?
        var waiters: [UInt64: CheckedContinuation<HTTPServerError, Never>] = [:]
        var cancelled: Set<UInt64> = []
        var lastWaiter: UInt64 = 0
    }

    private let configuration: HTTPServerConfiguration
    private let responder: any HTTPResponder
    private let observer: (any HTTPServerObserver)?
    private let budget: ByteBudget
    private let answers: AnswerBudget
    private let connectionLimit: ConnectionLimit
    private let lameDuck = LameDuckFlag()
    private let state = Guarded(State())

    /// A server that does not listen yet. `observer` receives every finished request.
    public init(
        configuration: HTTPServerConfiguration, responder: any HTTPResponder, observer: (any HTTPServerObserver)? = nil
    ) {
        self.configuration = configuration
        self.responder = responder
        self.observer = observer
        budget = ByteBudget(total: configuration.maxTotalBodyBytes, largest: configuration.maxBodyBytes)
        answers = AnswerBudget(total: configuration.maxTotalAnswerBytes, loops: configuration.eventLoops)
        connectionLimit = ConnectionLimit(configuration.maxConnections, loops: configuration.eventLoops)
    }

    /// Changes the limits, after a change of the memory that the process may use. All other settings keep their values.
    /// Requests that were accepted are still answered.
    public func use(maxBodyBytes: Int, maxTotalBodyBytes: Int, maxTotalAnswerBytes: Int, maxConnections: Int) {
        budget.use(total: maxTotalBodyBytes, largest: maxBodyBytes)
        answers.use(total: maxTotalAnswerBytes)
        connectionLimit.use(maxConnections)
    }

    /// Binds every address and starts to serve. Blocks until all addresses are bound (resolving a host name may take
    /// time).
    ///
    /// - Returns: the bound addresses, with port 0 resolved, e.g. `127.0.0.1:8080` or `unix:/run/ocelli.sock`.
    /// - Throws: an error for the first address that cannot be used; then no address stays bound.
    public func start() throws(HTTPServerError) -> [String] {
        let first = state.withLock { state in
            defer { state.started = true }
            return !state.started
        }
        guard first else { throw .alreadyStarted }
        let listeners = try Listener.open(configuration)
        var loops: [LoopContext] = []
        do throws(HTTPServerError) {
            for (index, own) in listeners.enumerated() {
                let context = try LoopContext(
                    configuration: configuration, responder: responder, observer: observer, listeners: own,
                    budget: budget, answers: answers, connectionLimit: connectionLimit, lameDuck: lameDuck,
                    name: "http-\(index)",
                    reportFailure: { [weak self] error in self?.fail(error) })
                let mailbox = context.mailbox
                budget.listen(
                    shortage: { mailbox.post(.budgetShort) }, release: { mailbox.post(.budgetFreed) })
                answers.listen { done in mailbox.post(.shedReaders(done: done)) }
                try EventLoop.start(context)
                loops.append(context)
            }
        } catch {
            for loop in loops { loop.mailbox.post(.stop(done: { _ in })) }
            Listener.close(listeners)
            throw error
        }
        let running = loops
        state.withLock { state in
            state.loops = running
            state.listeners = listeners
        }
        var addresses: [String] = []
        for listener in listeners.joined() where !addresses.contains(listener.address) {
            addresses.append(listener.address)
        }
        return addresses
    }

    /// Releases the buffers that all servers of this process keep for later bodies. Call it when the process is idle.
    package static func releaseMemory() { MappedBuffers.releaseAll() }

    /// The counters so far.
    public var statistics: HTTPServerStatistics {
        var statistics = HTTPServerStatistics()
        for loop in state.withLock({ $0.loops }) { loop.counters.add(to: &statistics) }
        statistics.connectionsLimit = connectionLimit.total
        statistics.bodyBytes = budget.used
        statistics.bodyBytesLimit = budget.limits.total
        statistics.answerBytes = answers.used
        statistics.answerBytesLimit = answers.total
        return statistics
    }

    /// Continues to serve, including new connections, but closes each connection after its next answer, so that clients
    /// and load balancers move elsewhere before `shutdown(within:)` is called.
    public func beginLameDuck() {
        lameDuck.set()
    }

    /// Stops accepting, closes idle connections, and closes the others after their answers. When the time is up,
    /// handlers that still run are cancelled and their connections closed. Returns when all sockets are closed.
    public func shutdown(within time: Duration) async -> ShutdownReport {
        lameDuck.set()
        let (loops, listeners) = state.withLock { state in
            defer {
                state.stopped = true
                state.listeners = []
            }
            return (state.stopped ? [] : state.loops, state.listeners)
        }
        let group = LoopGroup(loops)
        // Closing a listening socket resets every connection that the kernel has accepted and the server has not. So
        // the kernel first stops accepting handshakes, and clients that are connecting get a moment to send a first
        // request.
        let start = ContinuousClock.now
        Listener.stopHandshakes(listeners)
        await group.acceptPending(within: min(time, Self.arrivalTime), atOnce: !Listener.mayHaveHandshakes(listeners))
        await group.drain(within: time - (ContinuousClock.now - start)) { Listener.close(listeners) }
        let lost = await group.stop()
        fail(.stopped)
        return ShutdownReport(lostRequests: lost)
    }

    /// The maximum time for handshakes and first requests in flight at a shutdown: a few round trips.
    private static let arrivalTime: Duration = .milliseconds(200)

    // MARK: Failure

    /// Returns when the server cannot continue because a listening socket or an event loop has failed. The process
    /// should then exit with an error and be restarted. Returns `.stopped` after a shutdown, or when the calling task
    /// is cancelled.
    public func waitUntilFailure() async -> HTTPServerError {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let failure: HTTPServerError? = state.withLock { state in
                    if let failure = state.failure { return failure }
                    if state.cancelled.remove(id) != nil { return .stopped }
                    state.waiters[id] = continuation
                    return nil
                }
                if let failure { continuation.resume(returning: failure) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: id)
                if waiter == nil { state.cancelled.insert(id) }
                return waiter
            }
            waiter?.resume(returning: .stopped)
        }
    }

    private func fail(_ error: HTTPServerError) {
        let waiters = state.withLock { state in
            if state.failure == nil { state.failure = error }
            defer { state.waiters = [:] }
            return state.waiters.values.map { $0 }
        }
        for waiter in waiters { waiter.resume(returning: error) }
    }
}

/// The result of a shutdown.
public struct ShutdownReport: Sendable, Hashable {
    /// The number of requests that had begun (their first byte had arrived) and were not answered when the time was up.
    public let lostRequests: Int

    /// A report.
    public init(lostRequests: Int) {
        self.lostRequests = lostRequests
    }
}
