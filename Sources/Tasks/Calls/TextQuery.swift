package import HTTPServer
package import HTTPWire
package import Inference
internal import JSON
internal import ServiceCore
internal import SystemSupport
package import WireFormats

/// The query of a request to embed texts.
package struct TextQuery: Sendable {
    /// The encoding of an embedding.
    package private(set) var encoding = ObservationWriter.Encoding.float
    private var common = PictureQuery()

    private static let names = ["encoding", "timeout_ms"]

    /// Reads the query. Parameters for pictures are refused.
    /// - Parameter maxDeadline: the greatest timeout in seconds.
    package init(_ target: RequestTarget, maxDeadline: Double) throws(ServiceError) {
        for parameter in try RequestParameter.all(target, form: []) {
            switch parameter.name {
            case "encoding": encoding = try parameter.choice()
            case "timeout_ms": _ = try common.take(parameter, maxDeadline: maxDeadline)
            default:
                throw .badRequest(
                    "unknown \(parameter.place) \"\(parameter.name.prefix(60))\""
                        + "\(Spelling.hint(for: parameter.name, among: Self.names)); known for texts: "
                        + Self.names.joined(separator: ", "))
            }
        }
    }

    /// The options of the inferences, with their deadline.
    /// - Parameter deadline: the seconds of a request that gives no timeout.
    package func options(of request: HTTPRequest, deadline: Double) -> PredictionOptions {
        common.options(of: request, deadline: deadline)
    }
}
