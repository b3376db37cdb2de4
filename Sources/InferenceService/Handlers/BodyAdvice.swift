internal import HTTPServer
internal import HTTPWire
internal import Inference

/// Advice on frequent mistakes in a body that should be a picture: words behind the error.
enum BodyAdvice {
    /// The error with advice, where the body tells what went wrong.
    /// - Parameter name: what the model is asked by.
    static func adding(
        to error: ServiceError, of request: HTTPRequest, model: Model, name: String
    ) -> ServiceError {
        guard request.body.count > 0, [.unsupportedMediaType, .invalidImage].contains(error.code) else { return error }
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

    /// True if a body is `name=value`, as forms without files and Python's `data={...}` have it.
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

    /// True if a body is a binary file without its line ends and NULs. What people try first is `curl -d @cat.jpg`,
    /// which leaves them out, and says that it sends a form; `--data-binary` says so too, but sends the file as it is.
    /// Every picture has such bytes, most in its header.
    private static func isStripped(_ body: HTTPBody) -> Bool {
        body.withUnsafeBytes { bytes in
            let start = bytes.prefix(4096)
            let isText = start.allSatisfy { $0 < 0x80 }
            return !isText && !start.contains { $0 == 0 || $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        }
    }
}
