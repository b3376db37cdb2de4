internal import HTTPServer
internal import HTTPWire

/// The pictures of a `multipart/form-data` body: where each lies in it. Nothing is copied.
struct ImageParts {
    /// The range of each part named `image`, in order; at least one.
    let ranges: [Range<Int>]

    init(_ body: HTTPBody, boundary: [UInt8], most: Int) throws(ServiceError) {
        var ranges: [Range<Int>] = []
        var start: Int?, end = 0
        // How many parts there may be is `most`, which tells of pictures.
        var limits = WireLimits()
        limits.multipartParts = .max
        var decoder = MultipartDecoder(boundary: boundary, limits: limits)
        var problem: ServiceError?
        let failure: WireError? = body.withUnsafeBytes { bytes in
            do throws(WireError) {
                try decoder.feed(bytes) { event in
                    switch event {
                    case .partBegin(let headers):
                        start = nil
                        end = 0
                        if ranges.count >= most, problem == nil {
                            problem = ServiceError(
                                .badRequest, "bad_request",
                                "the multipart body has more than \(most) pictures, the limit (max_batch)"
                            )
                        }
                        if headers.name != "image", problem == nil {
                            problem = ServiceError(
                                .badRequest, "bad_request",
                                "part \(ranges.count + 1) is named \"\(headers.name.prefix(60))\": expected parts named \"image\""
                            )
                        }
                    case .data(let range):
                        start = start ?? range.lowerBound
                        end = range.upperBound
                    case .partEnd:
                        if problem == nil { ranges.append((start ?? 0)..<end) }
                    case .end: break
                    }
                }
                try decoder.finish()
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw ServiceError(failure) }
        if let problem { throw problem }
        guard !ranges.isEmpty else {
            throw ServiceError(
                .badRequest, "bad_request", "the multipart body has no part: expected parts named \"image\"")
        }
        self.ranges = ranges
    }
}
