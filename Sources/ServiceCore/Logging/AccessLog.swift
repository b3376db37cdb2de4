package import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Synchronization
internal import SystemSupport

/// Writes one line for each request: client, route, model, outcome, and the time of each stage. Thread-safe.
///
/// Requests' contents are never logged: no body, no query, no token. The path is logged only if it has no route.
package final class AccessLog: Sendable {
    private let log: Log
    private let isEnabled: Atomic<Bool>

    package init(_ log: Log, isEnabled: Bool) {
        self.log = log
        self.isEnabled = Atomic(isEnabled)
    }

    /// Turns the lines on or off.
    package func use(isEnabled: Bool) { self.isEnabled.store(isEnabled, ordering: .relaxed) }

    package func write(_ record: ExchangeRecord, route: String) {
        guard isEnabled.load(ordering: .relaxed), log.isEnabled(.info) else { return }
        let note = record.note as? RequestNote
        let status = record.status?.code ?? 0
        // Without a route, only the path shows the requested resource.
        let path = route == "none" && !record.path.isEmpty ? String(record.path.prefix(200)) : nil
        log.line(.info) { text in
            Self.write(record, note, route: route, path: path, status: status, to: &text)
        } fields: { writer in
            Self.write(record, note, route: route, path: path, status: status, to: &writer)
        }
    }

    private static func method(of record: ExchangeRecord) -> String {
        guard let method = record.method?.rawValue else { return "-" }
        return method.utf8.count <= 20 ? method : String(method.prefix(20))
    }

    /// The stages of a request and their times; calls `write` for each, to avoid an array for each line.
    private static func stages(of note: RequestNote, _ write: (_ name: String, _ time: UInt64) -> Void) {
        write("recv", note.recv)
        if note.times.load > 0 { write("load", note.times.load) }
        write("queue", note.times.queue)
        write("decode", note.times.decode)
        write("infer", note.times.inference)
        if note.times.postprocess > 0 { write("postprocess", note.times.postprocess) }
        write("encode", note.encode)
    }

    private static func write(
        _ record: ExchangeRecord, _ note: RequestNote?, route: String, path: String?, status: Int,
        to text: inout LogText
    ) {
        func field(_ name: String, _ value: String) {
            text.add(name)
            text.add(value)
        }
        func word(_ value: String) {
            text.add(ascii: " ")
            text.add(value)
        }
        func milliseconds(_ name: String, _ time: UInt64) {
            word(name)
            text.add(ascii: "=")
            text.addMilliseconds(time)
        }
        text.add(record.client)
        word(method(of: record))
        word(route)
        if status == 0 {
            word("-")
        } else {
            text.add(ascii: " ")
            text.add(status)
        }
        if let path { text.add(" path=", quotingIfNeeded: path) }
        if record.outcome != .answered { word(name(of: record.outcome)) }
        // A cast that fails takes long, so make it only without the other note.
        if note == nil, let error = record.note as? ErrorNote {
            field(" error=", error.code)
            if let reason = reason(of: error, in: record) { field(" reason=", reason) }
        }
        if let note { field(" model=", note.model) }
        if let cache = note?.cache { field(" cache=", cache) }
        text.add(" in=")
        text.add(record.bodyBytesReceived)
        text.add(" out=")
        text.add(record.bodyBytesSent)
        milliseconds("ms", record.end.nanoseconds(since: record.firstByte))
        if let note {
            stages(of: note, milliseconds)
            if let label = note.topLabel {
                text.add(" top=", quoting: label)
            }
        }
        field(" id=", record.requestID)
        if let trace = record.head.flatMap(TraceContext.init) { field(" trace_id=", trace.traceID) }
    }

    private static func write(
        _ record: ExchangeRecord, _ note: RequestNote?, route: String, path: String?, status: Int,
        to writer: inout JSONWriter
    ) {
        writer.member("id", record.requestID)
        if let trace = record.head.flatMap(TraceContext.init) {
            writer.member("trace_id", trace.traceID)
            writer.member("parent_id", trace.parentID)
            if let state = trace.state { writer.member("trace_state", state) }
        }
        writer.member("client", record.client)
        if record.client != record.remote { writer.member("proxy", record.remote) }
        writer.member("method", method(of: record))
        writer.member("route", route)
        if let path { writer.member("path", path) }
        writer.member("status", status)
        writer.member("outcome", name(of: record.outcome))
        if note == nil, let error = record.note as? ErrorNote {
            writer.member("error", error.code)
            if let reason = reason(of: error, in: record) { writer.member("reason", reason) }
        }
        writer.member("bytes_in", record.bodyBytesReceived)
        writer.member("bytes_out", record.bodyBytesSent)
        writer.member("ms", milliseconds: record.end.nanoseconds(since: record.firstByte))
        guard let note else { return }
        writer.member("model", note.model)
        if let cache = note.cache { writer.member("cache", cache) }
        stages(of: note) { name, time in writer.member(name + "_ms", milliseconds: time) }
        if let label = note.topLabel { writer.member("top", label) }
    }

    /// The reason of an error; nil if it repeats the code, or if the outcome has it already.
    private static func reason(of error: ErrorNote, in record: ExchangeRecord) -> String? {
        error.reason != error.code && record.outcome == .answered ? error.reason : nil
    }

    /// A word for the outcome of a request.
    private static func name(of outcome: ExchangeRecord.Outcome) -> String {
        switch outcome {
        case .answered: "answered"
        case .clientGone(let stage): "client_gone_\(stage.rawValue)"
        case .protocolError(let label): "refused_\(label)"
        case .timedOut(let label): "timed_out_\(label)"
        }
    }
}
