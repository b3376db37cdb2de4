internal import FlowControl
internal import HTTPServer
internal import Settings

/// The end of the daemon: nothing that was accepted is lost.
///
/// 1. `/readyz` says 503, and every answer says `Connection: close`; for `drain_delay` new connections are still taken, so
///    that balancers notice before anybody is refused.
/// 2. Nothing new is accepted; what is under way has `drain_timeout` to finish.
/// 3. What has not finished is cancelled, counted and logged; the exit status then is 3, else 0.
struct Drain {
    let server: HTTPServer
    let service: Service
    let manager: ServiceManager
    let metrics: ServiceMetrics
    let log: Log

    /// The exit status of a drain that lost requests.
    static let lossStatus: Int32 = 3

    func run(settings: Settings) async -> Int32 {
        service.beginDraining()
        server.beginLameDuck()
        metrics.set(.draining, 1)
        let handlers = server.statistics.runningHandlers
        manager.stopping("draining: \(handlers) requests in progress")
        let patience = settings.drainDelay + settings.drainTimeout
        manager.extendTimeout(by: .seconds(patience + 5))
        log.notice("draining: \(handlers) requests in progress (a second signal exits at once)")
        if settings.drainDelay > 0 { try? await Task.sleep(for: .seconds(settings.drainDelay)) }
        let report = await server.shutdown(within: .seconds(settings.drainTimeout))
        metrics.add(.drainLost, UInt64(clamping: report.lostRequests))
        guard report.lostRequests == 0 else {
            log.error(
                "exiting with \(report.lostRequests) requests unanswered after \(Units.duration(settings.drainTimeout))"
            )
            return Self.lossStatus
        }
        log.notice("exiting: every request was answered")
        return 0
    }
}
