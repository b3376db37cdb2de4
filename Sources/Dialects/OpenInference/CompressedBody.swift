internal import CInflate
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import WireFormats

/// The body of a request that may be compressed: it may have a content coding (RFC 9110 section 8.4.1), which clients
/// of the Open Inference Protocol may send.
struct CompressedBody: Sendable {
    private let body: HTTPBody
    let isCompressed: Bool
    /// The maximum number of decompressed bytes.
    private let maximum: Int

    /// - Throws: 415 for an unsupported coding.
    init(of request: HTTPRequest, maximum: Int) throws(ServiceError) {
        body = request.body
        self.maximum = maximum
        let codings = request.head.contentCodings
        isCompressed = codings.count == 1 && ["gzip", "x-gzip", "deflate"].contains(codings[0])
        guard !isCompressed, !codings.isEmpty else { return }
        throw ServiceError(
            .unsupportedMediaType,
            "Content-Encoding \"\(codings.joined(separator: ", ").prefix(40))\" is not supported: send gzip, deflate, or no content coding"
        )
    }

    /// The number of bytes without a coding, at most: deflate (RFC 1951) compresses 1,032 bytes into one at best.
    var length: Int {
        guard isCompressed else { return body.count }
        let (bytes, isMore) = body.count.multipliedReportingOverflow(by: 1032)
        return isMore ? maximum : min(maximum, bytes)
    }

    /// The body without a coding. The memory of a decompressed body counts against the budget of the compressed one.
    /// - Parameter isCancelled: true once the client has disconnected.
    func decoded(isCancelled: () -> Bool) throws(ServiceError) -> HTTPBody {
        guard isCompressed else { return body }
        let result = HTTPBody(sharingBudgetOf: body, longest: maximum)
        let failure: ServiceError? = body.withUnsafeBytes { packed in
            do throws(ServiceError) {
                try Self.decompress(packed, into: result, maximum: maximum, isCancelled: isCancelled)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
        return result
    }

    private static func decompress(
        _ packed: UnsafeRawBufferPointer, into result: HTTPBody, maximum: Int, isCancelled: () -> Bool
    ) throws(ServiceError) {
        let noRoom = ServiceError(.overloaded, "there is no room for the decompressed body (max_total_body)")
        guard let stream = cinflate_open(packed.assumingMemoryBound(to: UInt8.self).baseAddress, packed.count) else {
            throw noRoom
        }
        defer { cinflate_close(stream) }
        var part = [UInt8](repeating: 0, count: 64 << 10)
        var room = 0
        while true {
            if isCancelled() { throw ServiceError(InferenceError.cancelled(stage: .decode)) }
            let count = part.withUnsafeMutableBufferPointer { cinflate_next(stream, $0.baseAddress, $0.count) }
            if count == 0 { return }
            guard count > 0 else {
                throw .badRequest("the body is not valid gzip or zlib data, which its Content-Encoding declares")
            }
            guard result.count + count <= maximum else {
                throw ServiceError(
                    .bodyTooLarge, "the decompressed body exceeds the limit of \(maximum) bytes (max_body)")
            }
            if result.count + count > room { room = min(maximum, max(result.count + count, 2 * room)) }
            guard result.makeRoom(count, target: room, hasArrived: true) == count else { throw noRoom }
            part.withUnsafeBytes { result.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }
}
