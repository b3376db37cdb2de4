internal import HTTPServer
internal import HTTPWire

/// One line for each request.
struct AccessLog: HTTPServerObserver {
    private let log: Log

    init(_ log: Log) { self.log = log }

    func exchangeEnded(_ record: ExchangeRecord) {
        guard log.isEnabled(.info) else { return }
        let time = record.end &- record.firstByte
        let method = record.method?.rawValue ?? "-"
        let status = record.status.map { String($0.code) } ?? "-"
        let outcome = Self.name(of: record.outcome)
        log.line(
            .info,
            message:
                "\(record.remote) \(method) \(record.path.prefix(200)) \(status)\(outcome == "answered" ? "" : " \(outcome)") "
                + "in=\(record.bodyBytesReceived) out=\(record.bodyBytesSent) "
                + "ms=\(Units.decimal(Double(time) / 1e6, places: 2)) id=\(record.requestID)",
            fields: [
                ("client", .string(record.remote)), ("method", .string(method)),
                ("path", .string(String(record.path.prefix(200)))), ("status", .integer(record.status?.code ?? 0)),
                ("outcome", .string(outcome)), ("bytes_in", .integer(record.bodyBytesReceived)),
                ("bytes_out", .integer(record.bodyBytesSent)), ("ms", .milliseconds(time)),
                ("id", .string(record.requestID)),
            ])
    }

    /// A word for how a request ended.
    private static func name(of outcome: ExchangeRecord.Outcome) -> String {
        switch outcome {
        case .answered: "answered"
        case .clientGone(let stage): "client_gone_\(stage.rawValue)"
        case .protocolError(let label): "refused_\(label)"
        case .timedOut(let label): "timed_out_\(label)"
        }
    }
}
