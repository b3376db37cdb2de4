internal import Dispatch
package import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Repository
internal import ServiceCore
package import Tasks
package import WireFormats

/// Answers the model repository extension: the index, and requests to load and unload models.
///
/// The permission to load and unload has been checked before: ``RepositoryControl``.
package struct RepositoryHandler: CallHandler {
    private let call: Call
    private var name: String { call.path.name }
    private var repository: ModelRepository { call.parts.repository }

    package init(_ call: Call) { self.call = call }

    package func index(_ request: HTTPRequest) throws(ServiceError) -> HTTPResponse {
        let onlyReady = try flag("ready", in: request)
        var writer = JSONWriter(capacity: 1024)
        writer.array { writer in
            for record in repository.records where !onlyReady || record.model != nil {
                writer.object { writer in
                    writer.key("name")
                    writer.string(record.name)
                    writer.key("version")
                    writer.string(record.version)
                    let (state, reason) = Self.state(record.state)
                    writer.key("state")
                    writer.string(state)
                    writer.key("reason")
                    writer.string(reason)
                }
            }
        }
        return MetadataHandler.json(writer)
    }

    private static func state(_ state: ModelState) -> (String, String) {
        switch state {
        case .ready: ("READY", "")
        case .loading: ("LOADING", "")
        case .unloaded: ("UNAVAILABLE", "unloaded")
        case .failed(let reason): ("UNAVAILABLE", reason)
        }
    }

    package func load(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        try await readParameters(request, refusingOverrides: true)
        // Find new models and versions too.
        try await scan()
        do throws(InferenceError) {
            try await repository.reload(name)
        } catch {
            throw ServiceError(error)
        }
        return HTTPResponse(status: .ok, fields: [("Content-Type", "application/json")], body: Array("{}".utf8))
    }

    package func unload(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        try await readParameters(request, refusingOverrides: false)
        do throws(InferenceError) {
            try repository.unload(name)
        } catch {
            throw ServiceError(error)
        }
        return HTTPResponse(status: .ok, fields: [("Content-Type", "application/json")], body: Array("{}".utf8))
    }

    /// Scans the folders, on a thread that may block.
    private func scan() async throws(ServiceError) {
        let failure: String? = await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .userInitiated).async { [repository] in
                do throws(RepositoryError) {
                    try repository.discover()
                    continuation.resume(returning: nil)
                } catch {
                    continuation.resume(returning: error.message)
                }
            }
        }
        if let failure { throw ServiceError(.modelNotReady, failure) }
    }

    // MARK: The request

    /// Reads the body, which may be empty; returns whether its member `name` is true.
    private func flag(_ name: String, in request: HTTPRequest) throws(ServiceError) -> Bool {
        var isTrue = false
        try read(request) { (key, scanner) throws(JSONError) in
            if key == name { isTrue = try scanner.bool("\"\(name)\"") } else { try scanner.skip() }
        }
        return isTrue
    }

    /// Refuses a taught model; then reads the body, a long one in the client's turn.
    private func readParameters(_ request: HTTPRequest, refusingOverrides: Bool) async throws(ServiceError) {
        try call.parts.taught?.refuseControl(of: name)
        try await call.read(request) { () throws(ServiceError) in
            try checkParameters(request, refusingOverrides: refusingOverrides)
        }
    }

    /// Reads the body, which may be empty. Refuses parameters that describe the model: only its bundle does.
    private func checkParameters(_ request: HTTPRequest, refusingOverrides: Bool) throws(ServiceError) {
        var override: String?
        try read(request) { (key, scanner) throws(JSONError) in
            guard key == "parameters" else { return try scanner.skip() }
            try scanner.object("\"parameters\"") { (key, scanner) throws(JSONError) in
                if key == "config" || key.hasPrefix("file:") { override = override ?? key }
                try scanner.skip()
            }
        }
        if refusingOverrides, let override {
            throw .badRequest(
                "parameter \"\(override.prefix(60))\": models are loaded as their bundles describe them")
        }
    }

    private func read(
        _ request: HTTPRequest, _ member: (String, inout JSONScanner) throws(JSONError) -> Void
    ) throws(ServiceError) {
        do throws(JSONError) {
            try request.body.withUnsafeBytes { (bytes) throws(JSONError) in
                var scanner = JSONScanner(bytes)
                scanner.skipSpace()
                guard scanner.byte != nil else { return }
                try scanner.object("the body", member)
                try scanner.end()
            }
        } catch {
            throw ServiceError(error)
        }
    }
}
