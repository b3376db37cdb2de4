package import FlowControl
package import HTTPServer
internal import HTTPWire
package import Inference
package import ServiceCore
package import SystemSupport
package import WireFormats

/// The content of a `multipart/form-data` body: its pictures, inputs and parameters, as ranges of the body. Pictures
/// are not copied.
///
/// A picture is a part named `image` or `file`, or the only part with a file name. A text part with the name of a query
/// parameter means the same as in the query (`curl -F image=@cat.jpg -F top=3`); other text parts are ignored, because
/// forms often have them. For a model with several inputs, a part is the input with its name.
package struct FormParts: Sendable {
    /// A part and the range of its data in the body.
    struct Part: Sendable {
        let headers: PartHeaders
        /// The part's number, from 1.
        let number: Int
        fileprivate(set) var range = 0..<0

        /// The media type that the client gives the data; nil for none.
        var type: String? { headers.contentType }

        /// True if the part holds several files (RFC 2388 section 4.2, which RFC 7578 section 4.3 deprecates):
        /// `curl -F image=@a.jpg,b.jpg`.
        fileprivate var isNested: Bool { headers.contentType?.lowercased().hasPrefix("multipart/") ?? false }
    }

    /// The inputs that parts may be, on a route that takes a model's inputs by name.
    package struct Inputs: Sendable {
        fileprivate let names: Set<String>
        /// The model's only input, if it is a picture; otherwise nil.
        fileprivate let picture: String?
        /// The names of the picture inputs.
        fileprivate let pictures: [String]
        /// True if the names `image1`, `image2` and so on are pictures too.
        fileprivate var areNumbered = false
        /// True if a form without a picture is refused.
        fileprivate var needsPicture = true

        init(_ description: ModelDescription) {
            names = Set(description.inputs.map(\.name))
            picture = description.imageInput?.name
            pictures = description.inputs.filter { $0.kind == .image }.map(\.name)
        }

        /// No inputs, on a route that takes pictures.
        package static let none = Inputs()
        private init() { (names, picture, pictures) = ([], "", []) }

        /// No inputs, on a route that takes pictures in parts with numbered names, too.
        /// - Parameter needsPicture: whether a form without a picture is refused.
        package static func numberedPictures(needsPicture: Bool = true) -> Inputs {
            var inputs = Inputs()
            inputs.areNumbered = true
            inputs.needsPicture = needsPicture
            return inputs
        }

        /// True if a part of this name is a picture.
        fileprivate func isPicture(_ name: String) -> Bool {
            if name == "image" || name == "file" { return true }
            guard areNumbered, name.hasPrefix("image") else { return false }
            let number = name.utf8.dropFirst("image".utf8.count)
            return (1...9).contains(number.count)
                && number.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
    }

    /// The pictures, in order; empty if ``item`` is not nil.
    let pictures: [Part]
    /// The inputs of the one prediction that the form describes, in order; nil for pictures.
    let item: [(name: String, part: Part)]?
    /// The text parts with the names of parameters, in order.
    package let parameters: [(name: String, value: String)]
    /// The text parts that make a list, in order.
    package let list: [String]

    /// The maximum number of parts that are not pictures: labels, and some parameters; most forms have far fewer.
    private static let maximumOthers = LabelList.maximumCount + 100

    /// The boundary of a request's form; nil if its body is not a form.
    package static func boundary(of request: HTTPRequest) throws(ServiceError) -> [UInt8]? {
        do throws(WireError) {
            return try MultipartDecoder.boundary(contentType: request.head.value(of: "content-type") ?? "")
        } catch {
            throw ServiceError(error)
        }
    }

    /// Reads the parts of a request's form. A long form waits for the client's turn in the work queue, because the
    /// request has no slot yet.
    package static func read(
        _ body: HTTPBody, boundary: [UInt8], maximum: Int, names: [String], list: String? = nil,
        inputs: Inputs = .none, in work: WorkQueue, for claim: Claim, until deadline: MonotonicInstant?
    ) async throws(ServiceError) -> FormParts {
        guard body.count > WorkQueue.shortForm else {
            return try FormParts(body, boundary: boundary, maximum: maximum, names: names, list: list, inputs: inputs)
        }
        return try await work.run(for: claim, until: deadline, lowPriority: false) { (_) throws(ServiceError) in
            try FormParts(body, boundary: boundary, maximum: maximum, names: names, list: list, inputs: inputs)
        }
    }

    /// - Parameters:
    ///   - maximum: the maximum number of pictures.
    ///   - names: the names of the route's parameters.
    ///   - list: the name of the text parts that make a list.
    init(
        _ body: HTTPBody, boundary: [UInt8], maximum: Int, names: [String], list: String? = nil,
        inputs: Inputs = .none
    ) throws(ServiceError) {
        var found = Found(inputs: inputs, names: names, listName: list, maximum: maximum)
        var part: Part?
        var count = 0, problem: ServiceError?
        var limits = WireLimits()
        // Limit all parts, not only pictures: a body of empty parts could have hundreds of thousands.
        limits.multipartParts = maximum + Self.maximumOthers
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
                        problem = part.flatMap { found.take($0, in: bytes) }
                        if problem != nil { throw WireError(.badRequest, message: "", label: "multipart_parts") }
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
                "the multipart body has more than \(limits.multipartParts) parts: the limit is \(maximum) pictures (max_batch) and "
                    + "\(Self.maximumOthers) other parts", label: failure.label)
        }
        if let failure { throw ServiceError(failure) }
        item = found.isItem ? try found.item() : nil
        pictures = item == nil ? try found.allPictures() : []
        parameters = found.parameters
        self.list = found.list
    }

    /// The parts so far. Of text parts only parameters are kept, which bounds their number.
    private struct Found {
        let inputs: Inputs, names: [String], listName: String?, maximum: Int
        private var pictures: [Part] = [], files: [Part] = [], named: [Part] = []
        private(set) var parameters: [(name: String, value: String)] = []
        private(set) var list: [String] = []

        /// Longer text is not the value of any parameter: the longest are lists of labels.
        private static let longestParameter = LabelList.maximumCount * (LabelList.maximumBytes + 1)

        init(inputs: Inputs, names: [String], listName: String?, maximum: Int) {
            (self.inputs, self.names, self.listName, self.maximum) = (inputs, names, listName, maximum)
        }

        /// Takes a complete part; returns its error, or nil.
        mutating func take(_ part: Part, in bytes: UnsafeRawBufferPointer) -> ServiceError? {
            if part.isNested {
                return .badRequest(
                    "part \(part.number) holds several files: send each in its own part "
                        + "(curl -F image=@a.jpg -F image=@b.jpg)")
            }
            if inputs.names.contains(part.headers.name) {
                named.append(part)
            } else if inputs.isPicture(part.headers.name) {
                pictures.append(part)
            } else if part.headers.filename != nil {
                files.append(part)
            } else if part.headers.name == listName {
                let text = bytes[part.range]
                guard text.count <= LabelList.maximumBytes, let text = String(validating: text, as: UTF8.self) else {
                    return .badRequest(
                        "part \(part.number), a \"\(part.headers.name)\": expected at most \(LabelList.maximumBytes) bytes of UTF-8, "
                            + "found \(text.count)\(text.count <= LabelList.maximumBytes ? " that are not UTF-8" : "")")
                }
                guard list.count < LabelList.maximumCount else {
                    return .badRequest(
                        "the form has more than \(LabelList.maximumCount) parts \"\(part.headers.name)\", the limit")
                }
                list.append(text)
            } else if names.contains(part.headers.name), parameters.count < 100 {
                let text = bytes[part.range].prefix(Self.longestParameter)
                parameters.append((part.headers.name, String(decoding: text, as: UTF8.self)))
            }
            guard max(pictures.count, files.count, named.count - inputs.names.count) > maximum else { return nil }
            return .badRequest("the multipart body has more than \(maximum) pictures: the limit (max_batch)")
        }

        /// True if the form is one prediction: the model has other inputs than one picture, or parts are named like
        /// other inputs.
        var isItem: Bool { inputs.picture == nil || named.contains { $0.headers.name != inputs.picture } }

        /// The inputs by name. A single picture under another name is the model's only picture input.
        func item() throws(ServiceError) -> [(name: String, part: Part)] {
            var item: [(name: String, part: Part)] = []
            for part in named {
                let name = part.headers.name
                if let other = item.first(where: { $0.name == name })?.part {
                    throw .badRequest(
                        "part \(part.number) is input \"\(name.prefix(60))\" again, as part \(other.number) is: send an array as "
                            + "JSON in one part, and several predictions as {\"items\": [...]} in a JSON body")
                }
                item.append((name, part))
            }
            let others = (pictures + files).sorted { $0.number < $1.number }
            let free = inputs.pictures.filter { name in !item.contains { $0.name == name } }
            if inputs.pictures.count == 1, others.count == 1, let name = free.first {
                return item + [(name, others[0])]
            }
            if let other = others.first {
                throw .badRequest(
                    "part \(other.number) is named \"\(other.headers.name.prefix(60))\": the model has no input of this name; it "
                        + "has \(inputs.names.sorted().map { "\"\($0)\"" }.joined(separator: ", "))")
            }
            return item
        }

        /// The pictures, at least one.
        func allPictures() throws(ServiceError) -> [Part] {
            var (pictures, files) = ((named + pictures).sorted { $0.number < $1.number }, files)
            if pictures.isEmpty, files.count == 1 { swap(&pictures, &files) }
            if let other = files.first {
                throw .badRequest(
                    "part \(other.number) is a file named \"\(other.headers.name.prefix(60))\": expected pictures named "
                        + "\"image\" or \"file\"")
            }
            guard !pictures.isEmpty || !inputs.needsPicture else {
                throw .badRequest("the multipart body has no picture: expected a part named \"image\" or \"file\"")
            }
            guard pictures.count <= maximum else {
                throw .badRequest("the multipart body has more than \(maximum) pictures: the limit (max_batch)")
            }
            return pictures
        }
    }
}

extension FormParts {
    /// The pictures of a form.
    /// - Parameter body: the body that the form was read from.
    package func images(in body: HTTPBody) -> [EncodedImage] {
        pictures.map { EncodedImage(body, $0.range, type: $0.type) }
    }
}

extension EncodedImage {
    /// A picture in a request's body.
    /// - Parameter type: the media type that the client gives it; nil for none.
    package init(_ body: HTTPBody, _ range: Range<Int>, type: String? = nil) {
        self.init(byteCount: range.count) { use in
            body.withUnsafeBytes { use(UnsafeRawBufferPointer(rebasing: $0[range])) }
        }
        take(type: type)
    }

    /// The picture that is the body of a request.
    package init(_ request: HTTPRequest) {
        self.init(request.body, 0..<request.body.count, type: request.head.value(of: "content-type"))
    }
}
