internal import HTTPServer
internal import HTTPWire
internal import Inference

/// The content of a `multipart/form-data` body: its pictures and its parameters. Pictures are not copied.
///
/// A picture is a part named `image` or `file`, or the only part with a file's name. A text part named like a query parameter
/// means the same as in the query (`curl -F image=@cat.jpg -F top=3`); other text parts are ignored, as forms have them.
struct ImageParts {
    /// The range of each picture, in order; at least one.
    let ranges: [Range<Int>]
    /// The text parts that are named like parameters, in order.
    let parameters: [(name: String, value: String)]

    /// A part, and where its data lie.
    private struct Part {
        let headers: PartHeaders
        let number: Int
        var range = 0..<0

        var isPicture: Bool { headers.name == "image" || headers.name == "file" }

        /// True if it holds several files (RFC 2388 section 4.2, which RFC 7578 section 4.3 deprecates):
        /// `curl -F image=@a.jpg,b.jpg`.
        var isNested: Bool { headers.contentType?.lowercased().hasPrefix("multipart/") ?? false }
    }

    /// Parts beside the pictures: far more than any form has.
    private static let mostOthers = 1000
    /// Longer text is not a parameter's value.
    private static let longestParameter = 1024

    /// The parts of a request's body.
    /// - Parameters:
    ///   - most: how many pictures there may be.
    ///   - parameters: the names of the parameters that the route has.
    /// - Returns: nil if the body is not a form with parts.
    static func of(
        _ request: HTTPRequest, most: Int, parameters: @autoclosure () -> [String]
    ) throws(ServiceError) -> ImageParts? {
        let boundary: [UInt8]?
        do throws(WireError) {
            boundary = try MultipartDecoder.boundary(contentType: request.head.value(of: "content-type") ?? "")
        } catch {
            throw ServiceError(error)
        }
        guard let boundary else { return nil }
        return try ImageParts(request.body, boundary: boundary, most: most, names: parameters())
    }

    private init(_ body: HTTPBody, boundary: [UInt8], most: Int, names: [String]) throws(ServiceError) {
        // Only text parts that are parameters are kept, so that there are few of them.
        var pictures: [Part] = [], others: [Part] = [], parameters: [(name: String, value: String)] = []
        var part: Part?
        var count = 0, problem: ServiceError?
        var limits = WireLimits()
        // Not the pictures alone: a body of parts without contents has hundreds of thousands of them.
        limits.multipartParts = most + Self.mostOthers
        var decoder = MultipartDecoder(boundary: boundary, limits: limits)
        let failure: WireError? = body.withUnsafeBytes { bytes in
            do throws(WireError) {
                try decoder.feed(bytes) { (event) throws(WireError) in
                    switch event {
                    case .partBegin(let headers):
                        count += 1
                        part = Part(headers: headers, number: count)
                    case .data(let range): part?.range = range
                    case .partEnd:
                        guard let part else { break }
                        if part.isNested {
                            problem = .badRequest(
                                "part \(part.number) holds several files: send each in its own part "
                                    + "(curl -F image=@a.jpg -F image=@b.jpg)")
                            throw WireError(.badRequest, message: "", label: "multipart_nested")
                        }
                        if part.isPicture {
                            pictures.append(part)
                        } else if part.headers.filename != nil {
                            others.append(part)
                        } else if names.contains(part.headers.name), parameters.count < 100 {
                            let text = bytes[part.range].prefix(Self.longestParameter)
                            parameters.append((part.headers.name, String(decoding: text, as: UTF8.self)))
                        }
                        if pictures.count > most || others.count > most {
                            problem = .badRequest(
                                "the multipart body has more than \(most) pictures: the limit (max_batch)"
                            )
                            throw WireError(.badRequest, message: "", label: "multipart_parts")
                        }
                    case .end: break
                    }
                }
                try decoder.finish()
                return nil
            } catch {
                return error
            }
        }
        if let problem { throw problem }
        if let failure, failure.label == "multipart_parts" {
            throw ServiceError(
                .bodyTooLarge,
                "the multipart body has more than \(limits.multipartParts) parts: the limit is \(most) pictures (max_batch) and "
                    + "\(Self.mostOthers) other parts", label: failure.label)
        }
        if let failure { throw ServiceError(failure) }
        if pictures.isEmpty, others.count == 1 { swap(&pictures, &others) }
        if let other = others.first {
            throw .badRequest(
                "part \(other.number) is a file named \"\(other.headers.name.prefix(60))\": expected pictures named "
                    + "\"image\" or \"file\"")
        }
        guard !pictures.isEmpty else {
            throw .badRequest("the multipart body has no picture: expected a part named \"image\" or \"file\"")
        }
        ranges = pictures.map(\.range)
        self.parameters = parameters
    }
}

extension EncodedImage {
    /// A picture that lies in a request's body.
    init(_ body: HTTPBody, _ range: Range<Int>) {
        self.init(byteCount: range.count) { use in
            body.withUnsafeBytes { use(UnsafeRawBufferPointer(rebasing: $0[range])) }
        }
    }
}
