package import HTTPServer
internal import HTTPWire
internal import JSON
internal import ServiceCore
internal import Settings
package import Tasks
package import WireFormats

/// Answers `POST /setup` and `GET /versions` of Label Studio: the versions of the models. The access token of `/setup`
/// is not read.
package struct LabelSetupHandler: CallHandler {
    private let call: Call

    package init(_ call: Call) throws(ServiceError) { self.call = call }

    /// The answer of `GET /health`.
    package static let health = "{\"status\":\"UP\",\"model_class\":\"ocelli\"}"

    package func setup(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        try request.head.refuseContentCodings()
        let call = call
        let version = try await call.read(request) { () throws(ServiceError) in
            let config = try LabelBody(request.body).config()
            return try LabelModels(call: call).versions(of: config)
        }
        return Self.json { $0.member("model_version", version) }
    }

    package func versions(_ request: HTTPRequest) throws(ServiceError) -> HTTPResponse {
        let versions = LabelModels(call: call).all
        return Self.json { $0.member("versions", versions) }
    }

    /// An answer with the members of an object.
    static func json(_ status: HTTPStatus = .ok, _ members: (inout JSONWriter) -> Void) -> HTTPResponse {
        var writer = JSONWriter(capacity: 256)
        writer.object(members)
        return HTTPResponse(status: status, fields: [("Content-Type", "application/json")], body: writer.bytes)
    }
}
