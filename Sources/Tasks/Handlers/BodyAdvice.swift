internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import WireFormats

/// Adds advice to the errors of frequent mistakes in a body that should be a picture.
enum BodyAdvice {
    /// The error with advice, if the body shows the mistake.
    /// - Parameter name: the model's name in the request.
    static func adding(
        to error: ServiceError, of request: HTTPRequest, model: Model, name: String
    ) -> ServiceError {
        guard [.unsupportedMediaType, .invalidImage].contains(error.code) else { return error }
        // curl sends an empty body for a file that does not exist.
        guard request.body.count > 0 else {
            return error.suffixed(": send the picture as the body, with curl by --data-binary @FILE")
        }
        if error.code == .unsupportedMediaType, isJSON(request.body), let input = model.description.imageInput?.name {
            return error.suffixed(
                ". Pictures in JSON go to /v1/models/\(name)/predict: {\"inputs\": {\"\(input)\": {\"b64\": \"...\"}}}")
        }
        let type = (request.head.value(of: "content-type") ?? "").lowercased()
        guard type.hasPrefix("application/x-www-form-urlencoded") else { return error }
        if isStripped(request.body) {
            return error.suffixed(" (curl -d changes files: send them with --data-binary)")
        }
        guard hasFields(request.body) else { return error }
        return error.suffixed(
            ". Form fields are not accepted: send the picture's bytes as the body, or a file in multipart/form-data")
    }

    /// True if a body is `name=value`, as sent by forms without files and by Python's `data={...}`.
    private static func hasFields(_ body: HTTPBody) -> Bool {
        body.withUnsafeBytes { bytes in
            let name = bytes.prefix(256).prefix { $0 != UInt8(ascii: "=") }
            return name.count < min(256, bytes.count) && !name.isEmpty
                && name.allSatisfy { (0x61...0x7A).contains($0 | 0x20) || "_-.%[]0123456789".utf8.contains($0) }
        }
    }

    private static func isJSON(_ body: HTTPBody) -> Bool {
        body.withUnsafeBytes { bytes in
            let first = bytes.prefix(256).first { !" \t\r\n".utf8.contains($0) }
            return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        }
    }

    /// True if a body looks like a binary file without its line ends and NULs. A frequent first attempt is
    /// `curl -d @cat.jpg`, which removes them and names the type of a form. `--data-binary` names this type too, but
    /// sends the file unchanged. Every picture has such bytes, most of them in its header.
    private static func isStripped(_ body: HTTPBody) -> Bool {
        body.withUnsafeBytes { bytes in
            let start = bytes.prefix(4096)
            let isText = start.allSatisfy { $0 < 0x80 }
            return !isText && !start.contains { $0 == 0 || $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        }
    }
}
