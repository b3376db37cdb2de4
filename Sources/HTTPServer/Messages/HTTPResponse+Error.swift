public import HTTPWire
internal import JSON

extension HTTPResponse {
    /// The JSON form of an error of the HTTP layer: `{"error": …, "code": …, "request_id": …}`.
    public static func error(_ error: WireError, requestID: String) -> HTTPResponse {
        var body: [UInt8] = []
        body.reserveCapacity(error.message.utf8.count + 96)
        body.append(contentsOf: "{\"error\":".utf8)
        JSONText.appendString(error.message, to: &body)
        body.append(contentsOf: ",\"code\":".utf8)
        JSONText.appendString(error.code.rawValue, to: &body)
        body.append(contentsOf: ",\"request_id\":".utf8)
        JSONText.appendString(requestID, to: &body)
        body.append(contentsOf: "}\n".utf8)
        var fields = [(name: "Content-Type", value: "application/json")]
        if let seconds = error.code.retryAfter { fields.append((name: "Retry-After", value: String(seconds))) }
        return HTTPResponse(status: error.status, fields: fields, body: body, tag: "http")
    }
}
