import FlowControl
import HTTPServer
import HTTPWire
import Inference
import InferenceService
import SystemSupport

/// A part of the daemon that all requests share.
struct Part: Sendable {
    let name: String
    /// True to count all threads: the part has threads of its own.
    var everyThread = false
    /// Makes a request function for a number of threads.
    let request: @Sendable (_ threads: Int) -> Crew.Request

    static func all() throws -> [Part] {
        [limiter, pool, metrics, bodies, decoding, try loops(1), try loops(4)]
    }

    /// A request's head, its slot, and the release of the slot. There are enough slots: waiting is counted elsewhere.
    private static let limiter = Part(name: "limiter") { threads in
        let limiter = InFlightLimiter(
            configuration: LimiterConfiguration(limit: threads, overloadTarget: .milliseconds(400)))
        return { _, others in
            _ = limiter.announce()
            others()
            let slot = limiter.tryAcquire()
            others()
            slot?.release()
        }
    }

    /// Takes an infer request from the pool and returns it.
    private static let pool = Part(name: "pool of infer requests") { threads in
        let pool = RequestPool((0..<threads).map { _ in IdleRequest() }, waiters: threads)
        return { _, others in
            let request = pool.tryAcquire()
            others()
            request?.release()
        }
    }

    /// The counts of a request that was answered.
    private static let metrics = Part(name: "metrics") { _ in
        let metrics = ServiceMetrics()
        return { _, others in
            var times = StageTimes()
            (times.queue, times.decode, times.inference) = (100_000, 2_000_000, 5_000_000)
            metrics.record(times, recv: 100_000, encode: 50_000, model: "mobilenet")
            others()
            let now = MonotonicInstant.now
            metrics.ended(
                ExchangeRecord(
                    requestID: "", remote: "", method: .post, head: nil, status: .ok, tag: "/v1/classify",
                    bodyBytesReceived: 105_000, bodyBytesSent: 400, firstByte: now, bodyEnd: now, responseReady: now,
                    end: now, outcome: .answered), route: "/v1/classify")
        }
    }

    /// The memory of a picture's body.
    private static let bodies = Part(name: "budget of bodies") { threads in
        final class Body: Sendable {}
        let budget = ByteBudget(total: 256 << 20, largest: 20 << 20)
        let bodies = (0..<threads).map { _ in Body() }
        return { thread, others in
            let body = ObjectIdentifier(bodies[thread])
            guard budget.take(105_000, for: .small, body: body) else { preconditionFailure("there is room for all") }
            others()
            budget.complete(0, body: body)
            others()
            budget.release(105_000, body: body)
        }
    }

    /// The memory of a picture's pixels.
    private static let decoding = Part(name: "budget of decoding") { _ in
        let budget = DecodeBudget()
        return { _, others in
            let room = budget.takeAtOnce(4 << 20)
            others()
            room?.release()
        }
    }

    /// A request through a socket, answered by a task.
    private static func loops(_ count: Int) throws -> Part {
        var configuration = HTTPServerConfiguration(listeners: [.tcp(host: "127.0.0.1", port: 0)])
        configuration.eventLoops = count
        let server = HTTPServer(configuration: configuration, responder: Echo())
        let addresses = try server.start()
        guard let port = addresses.first?.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            preconditionFailure("the server listens nowhere: \(addresses)")
        }
        return Part(
            name: count == 1 ? "one event loop" : "\(count) event loops", everyThread: true,
            request: { threads in
                let clients = (0..<threads).map { _ in SocketClient(port: port) }
                return { thread, _ in withExtendedLifetime(server) { clients[thread].request() } }
            })
    }
}

/// Sends an empty answer from a task.
private struct Echo: HTTPResponder {
    func admit(_ head: RequestHead, requestID: String, from source: RequestSource) -> BodyAdmission {
        .accept(maxBytes: 1 << 20) { _ in HTTPResponse(status: .ok) }
    }
}

/// Never runs.
private final class IdleRequest: InferRequest {
    func setInput(_ index: Int, to tensor: any EngineTensor) throws(EngineError) {}
    func start(completion: @escaping @Sendable () -> Void) throws(EngineError) { completion() }
    func finish() throws(EngineError) {}
    func cancel() {}
    func profile() throws(EngineError) -> [LayerProfile] { [] }
    func withOutput<R>(_ index: Int, _ body: (Shape, UnsafeRawBufferPointer) -> R) throws(EngineError) -> R {
        body(Shape([]), UnsafeRawBufferPointer(start: nil, count: 0))
    }
}
