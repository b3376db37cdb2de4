import CMallocCounter
import HTTPServer
import HTTPWire
import Synchronization
import SystemSupport

/// The routes of the probe:
///
/// - `/healthz`: answered directly at the head. `/task`: answered the same way by a task.
/// - `/echo`: returns the request's content. `/length`: returns its length and the sum of its bytes, for long ones.
/// - `/sleep?ms=N`: answers after that time, or at once when cancelled. `/cancelled`: the number of cancellations.
/// - `/big?bytes=N`: returns content of that length. `/empty`: returns 204.
/// - `/refuse`: answers 413 directly at the head.
/// - `/statistics`: counters and outcomes, one per line. `/allocations`: the number of allocations of the process.
final class ProbeResponder: HTTPResponder {
    private let journal: ExchangeJournal
    private let server = Guarded<HTTPServer?>(nil)
    private let cancelled = Atomic<Int>(0)
    /// The number of running `/sleep` requests, and its maximum.
    private let sleeping = Guarded((now: 0, maximum: 0))
    private let health = HTTPResponse(
        status: .ok, fields: [(name: "Content-Type", value: "application/json")], body: Array(#"{"status":"ok"}"#.utf8))

    init(journal: ExchangeJournal) {
        self.journal = journal
    }

    func attach(_ server: HTTPServer) {
        self.server.withLock { $0 = server }
    }

    func admit(_ head: RequestHead, requestID: String, from source: RequestSource) -> BodyAdmission {
        switch head.target.path {
        case "/healthz": .answer(health)
        case "/refuse": .answer(text(.contentTooLarge, "refused\n"))
        case "/allocations": .answer(text(.ok, "\(malloc_counter_allocations())\n"))
        default: .accept(maxBytes: .max) { [self] request in await respond(to: request) }
        }
    }

    func isProbe(_ head: RequestHead) -> Bool { head.target.path == "/healthz" }

    private func respond(to request: HTTPRequest) async -> HTTPResponse {
        let number = request.head.target.queryItems().first.flatMap { Int($0.value) } ?? 0
        switch request.head.target.path {
        case "/task": return health
        case "/echo":
            return HTTPResponse(
                status: .ok, fields: [(name: "Content-Type", value: "application/octet-stream")],
                body: request.body.withUnsafeBytes { Array($0) })
        case "/length":
            let sum = request.body.withUnsafeBytes { $0.reduce(0) { $0 &+ Int($1) } }
            return text(.ok, "\(request.body.count) \(sum)\n")
        case "/sleep":
            sleeping.withLock { $0 = ($0.now + 1, max($0.maximum, $0.now + 1)) }
            defer { sleeping.withLock { $0.now -= 1 } }
            do {
                try await Task.sleep(for: .milliseconds(number))
            } catch {
                cancelled.add(1, ordering: .relaxed)
            }
            return text(.ok, "slept\n")
        case "/cancelled": return text(.ok, "\(cancelled.load(ordering: .relaxed))\n")
        case "/big": return HTTPResponse(status: .ok, body: Array(repeating: 120, count: max(0, min(number, 64 << 20))))
        case "/empty": return HTTPResponse(status: .noContent)
        case "/statistics": return text(.ok, statistics())
        default: return text(.notFound, "there is no \(request.head.target.path)\n")
        }
    }

    private func statistics() -> String {
        guard let statistics = server.withLock({ $0?.statistics }) else { return "" }
        var lines = journal.lines()
        lines.append("open \(statistics.openConnections)")
        lines.append("idle \(statistics.idleConnections)")
        lines.append("accepted \(statistics.acceptedConnections)")
        lines.append("refused \(statistics.refusedConnections)")
        lines.append("evicted \(statistics.evictedConnections)")
        lines.append("running \(statistics.runningHandlers)")
        lines.append("mostSleeping \(sleeping.withLock { $0.maximum })")
        lines.append("cancelled \(statistics.cancelledHandlers)")
        lines.append("bodyBytes \(statistics.bodyBytes)")
        lines.append("waiting \(statistics.bodiesWaiting)")
        lines.append("answerBytes \(statistics.answerBytes)")
        lines.append("socketBytes \(statistics.socketBytes)")
        lines.append("shedReaders \(statistics.shedReaders)")
        lines.append("evictedBodies \(statistics.evictedBodies)")
        lines.append("slowReaders \(statistics.slowReaders)")
        return lines.joined(separator: "\n") + "\n"
    }

    private func text(_ status: HTTPStatus, _ text: String) -> HTTPResponse {
        HTTPResponse(status: status, fields: [(name: "Content-Type", value: "text/plain")], body: Array(text.utf8))
    }
}
