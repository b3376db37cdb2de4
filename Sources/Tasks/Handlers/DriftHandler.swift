internal import Drift
internal import FoundationEssentials
package import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Repository
internal import ServiceCore
package import WireFormats

/// Answers `/v1/models/{name}/drift`: whether a model's pictures and answers are still like those of its reference.
package struct DriftHandler: CallHandler {
    private let monitors: DriftMonitors
    private let call: Call
    private var name: String { call.path.name }

    /// The maximum size of a body, in bytes.
    private static let largest = 1 << 10

    /// Refuses, with 404, a model that does not exist, or is not watched.
    package init(_ call: Call) throws(ServiceError) {
        self.call = call
        let name = call.path.name
        if call.parts.taught?.owns(name) != true {
            do throws(InferenceError) {
                _ = try call.parts.repository.records(of: name)
            } catch {
                throw ServiceError(error)
            }
        }
        guard let monitors = call.parts.drift, monitors.isWatched(name) else {
            throw ServiceError(
                .notFound,
                "model \"\(name)\" is not watched for drift: set `drift` to true, or `runtime.drift` in its model.json")
        }
        self.monitors = monitors
    }

    package func describe(_: HTTPRequest) throws(ServiceError) -> HTTPResponse { answer() }

    /// Begins to learn the reference anew.
    package func learn(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        try await call.read(request) { () throws(ServiceError) in try Self.check(request) }
        await monitors.learnAnew(name)
        return answer()
    }

    /// Throws, with 400, unless the body is `{"reference": "recent"}`.
    private static func check(_ request: HTTPRequest) throws(ServiceError) {
        let expected = "{\"reference\": \"recent\"}, which begins to learn the reference anew"
        guard request.body.count <= largest else {
            throw .badRequest("the body has \(request.body.count) bytes: expected \(expected)")
        }
        let tree: JSONTree
        do throws(JSONTextError) {
            tree = try JSONTree.read(request.body.withUnsafeBytes { [UInt8]($0) }, .json)
        } catch {
            throw .badRequest("the body is not JSON: \(error.reason); expected \(expected)")
        }
        guard tree.value == .object(["reference": .string("recent")]) else {
            throw .badRequest("the body is \(tree.value.kind): expected \(expected)")
        }
    }

    private func answer() -> HTTPResponse {
        let monitor = monitors.status(of: name).monitor
        var writer = JSONWriter(capacity: 2048)
        writer.object { writer in
            writer.member("state", monitor.state.rawValue)
            writer.member("since", Self.text(monitor.since))
            Self.write("reference", monitor.reference, to: &writer)
            Self.write("recent", monitor.recent, to: &writer)
            writer.key("signals")
            writer.array { writer in
                for reading in monitor.readings { writer.object { Self.write(reading, to: &$0) } }
            }
        }
        return HTTPResponse(status: .ok, fields: [("Content-Type", "application/json")], body: writer.bytes)
    }

    private static func write(_ name: String, _ span: DriftMonitor.Span, to writer: inout JSONWriter) {
        writer.key(name)
        writer.object { writer in
            writer.member("pictures", span.pictures)
            for (key, time) in [("from", span.from), ("to", span.to)] {
                writer.key(key)
                if let time { writer.string(text(time)) } else { writer.null() }
            }
        }
    }

    private static func write(_ reading: DriftMonitor.Reading, to writer: inout JSONWriter) {
        writer.member("name", reading.signal.rawValue)
        for (key, mean) in [("reference", reading.reference), ("recent", reading.recent)] {
            writer.key(key)
            if let mean { writer.number((mean * 10_000).rounded() / 10_000) } else { writer.null() }
        }
        writer.member("evidence", reading.evidence)
        writer.member("drifted", reading.hasDrifted)
    }

    private static func text(_ time: Int) -> String {
        Date(timeIntervalSince1970: Double(time)).formatted(.iso8601)
    }
}
