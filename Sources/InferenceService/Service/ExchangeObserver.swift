internal import HTTPServer
internal import ServiceCore

/// Receives every finished request, and passes it to the metrics and the access log.
final class ExchangeObserver: HTTPServerObserver {
    let metrics: ServiceMetrics
    let accessLog: AccessLog

    init(metrics: ServiceMetrics, accessLog: AccessLog) {
        self.metrics = metrics
        self.accessLog = accessLog
    }

    func exchangeEnded(_ record: ExchangeRecord) {
        // The service's answers carry their route; without an answer, the path gives it.
        let route = record.tag.isEmpty ? Service.routes.match(record.path)?.resource.label ?? "none" : record.tag
        metrics.ended(record, route: route)
        accessLog.write(record, route: route)
        if record.outcome == .answered { (record.note as? RequestNote)?.afterSend?() }
    }
}
