internal import FlowControl
internal import HTTPServer
internal import ServiceCore
internal import Settings

/// Shuts down the daemon without losing accepted requests.
///
/// 1. `/readyz` answers 503, and every answer has `Connection: close`; for `drain_delay` new connections are still
///    accepted, so that load balancers notice before clients are refused.
/// 2. No new requests are accepted; requests in progress have `drain_timeout` to finish.
/// 3. Unfinished requests are cancelled, counted and logged; the exit status is then 3, otherwise 0.
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
        await service.endWatching()
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
