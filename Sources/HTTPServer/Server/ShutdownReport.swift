/// What a shutdown left undone.
public struct ShutdownReport: Sendable, Hashable {
    /// Requests that were begun (their first byte was received) and not answered when the time was up.
    public let lostRequests: Int

    /// A report.
    public init(lostRequests: Int) {
        self.lostRequests = lostRequests
    }
}
