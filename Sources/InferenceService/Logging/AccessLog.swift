internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import Synchronization

/// One line for each request: who asked what of which model, how it ended, and where the time went.
///
/// Never what was sent: no body, no query, no token. The path is told only where there is no route for it.
final class AccessLog: Sendable {
    private let log: Log
    private let isEnabled: Atomic<Bool>

    init(_ log: Log, isEnabled: Bool) {
        self.log = log
        self.isEnabled = Atomic(isEnabled)
    }

    /// Turns the lines on or off.
    func use(isEnabled: Bool) { self.isEnabled.store(isEnabled, ordering: .relaxed) }

    func write(_ record: ExchangeRecord, route: String) {
        guard isEnabled.load(ordering: .relaxed), log.isEnabled(.info) else { return }
        let note = record.note as? RequestNote
        let method = record.method.map { String($0.rawValue.prefix(20)) } ?? "-"
        let status = record.status?.code ?? 0
        let outcome = Self.name(of: record.outcome)
        let time = record.end &- record.firstByte
        var message = "\(record.remote) \(method) \(route) \(status == 0 ? "-" : String(status))"
        var fields: [(String, JSONValueText)] = [
            ("id", .string(record.requestID)), ("client", .string(record.remote)), ("method", .string(method)),
            ("route", .string(route)),
        ]
        if route == "none", !record.path.isEmpty {
            let path = String(record.path.prefix(200))
            message += " path=\(path)"
            fields.append(("path", .string(path)))
        }
        if outcome != "answered" { message += " \(outcome)" }
        if let note { message += " model=\(note.model)" }
        message += " in=\(record.bodyBytesReceived) out=\(record.bodyBytesSent) ms=\(Self.milliseconds(time))"
        fields += [
            ("status", .integer(status)), ("outcome", .string(outcome)),
            ("bytes_in", .integer(record.bodyBytesReceived)), ("bytes_out", .integer(record.bodyBytesSent)),
            ("ms", .milliseconds(time)),
        ]
        if let note {
            fields.append(("model", .string(note.model)))
            for (name, value) in [
                ("recv", note.recv), ("queue", note.times.queue), ("decode", note.times.decode),
                ("infer", note.times.inference), ("encode", note.encode),
            ] {
                message += " \(name)=\(Self.milliseconds(value))"
                fields.append(("\(name)_ms", .milliseconds(value)))
            }
            if let label = note.topLabel {
                message += " top=\"\(label)\""
                fields.append(("top", .string(label)))
            }
        }
        log.line(.info, message: message + " id=\(record.requestID)", fields: fields)
    }

    private static func milliseconds(_ nanoseconds: UInt64) -> String {
        Units.decimal(Double(nanoseconds) / 1e6, places: 2)
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
