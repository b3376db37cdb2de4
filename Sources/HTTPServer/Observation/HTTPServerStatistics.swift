/// The server's counters at one moment.
public struct HTTPServerStatistics: Sendable, Hashable {
    /// Open connections, including those that linger after their last answer.
    public var openConnections = 0
    /// Open connections that wait for a request.
    public var idleConnections = 0
    /// The maximum of `openConnections`.
    public var connectionsLimit = 0
    /// Connections accepted since the start.
    public var acceptedConnections = 0
    /// Connections closed at once because no file descriptor was free.
    public var refusedConnections = 0
    /// Connections closed to make room for new ones.
    public var evictedConnections = 0
    /// Request heads parsed.
    public var requests = 0
    /// Requests that are being handled.
    public var runningHandlers = 0
    /// Handlers cancelled because the client disconnected.
    public var cancelledHandlers = 0
    /// Answers rendered, including error answers.
    public var answers = 0
    /// Requests whose client disconnected while they were received, handled or answered.
    public var clientsGone = 0
    /// Clients that did not read their answer within the write timeout; their connections were reset.
    public var slowReaders = 0
    /// Connections closed by the idle timeout.
    public var idleTimeouts = 0
    /// Connections closed near `answerBytesLimit` because their clients had read nothing of their answers for longest.
    public var shedReaders = 0
    /// Bodies refused as the slowest while the memory for bodies was exhausted.
    public var evictedBodies = 0
    /// Bytes of answers that clients have not read yet: those queued in this process, and `socketBytes`.
    public var answerBytes = 0
    /// The part of `answerBytes` in the kernel's socket buffers; up to a second old.
    public var socketBytes = 0
    /// The maximum of `answerBytes`.
    public var answerBytesLimit = 0
    /// Memory used by bodies, in bytes.
    public var bodyBytes = 0
    /// The maximum of `bodyBytes`.
    public var bodyBytesLimit = 0
    /// Connections with a body that waits for memory under that maximum.
    public var bodiesWaiting = 0
    /// Malformed requests and exceeded limits, by label.
    public var protocolErrors: [String: Int] = [:]
    /// Requests that arrived too slowly, by label.
    public var timeouts: [String: Int] = [:]

    /// Statistics with all counters zero.
    public init() {}
}
