internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import ServiceCore

/// The picture of a task: in the body as a data: URI, or a file. Its bytes are read while its slot is held, so that
/// waiting requests hold no pictures in addition to their bodies.
struct LabelPicture: Sendable {
    private let source: Source
    /// The beginning of the picture, from which its cost is estimated.
    private let start: EncodedImage

    private enum Source: Sendable {
        case embedded(HTTPBody, LabelBody.Place)
        case file(String, LocalFiles)
    }

    /// The number of bytes of ``start``: usually with the picture's size.
    private static let startBytes = 8 << 10

    /// Finds the picture that a task's text names. Blocks: reads the beginning of files.
    /// - Parameter place: of the text in the body; nil if the task does not have it.
    /// - Throws: `invalidInput` for an address, which is never fetched, and for a file that cannot be read.
    init(_ place: LabelBody.Place?, member: String, in body: HTTPBody, _ files: LocalFiles) throws(InferenceError) {
        guard let place else {
            throw .invalidInput(name: "image", reason: "the task's data have no text \"\(member.prefix(60))\"")
        }
        let beginning = body.withUnsafeBytes { place.text(in: $0, maximum: 4 << 10) }
        if beginning.prefix(5).lowercased() == "data:" {
            source = .embedded(body, place)
            start = EncodedImage(body.withUnsafeBytes { place.base64Start(in: $0, bytes: Self.startBytes) })
        } else if let name = Self.file(beginning) {
            source = .file(name, files)
            start = EncodedImage(try files.read(name, limit: Self.startBytes))
        } else {
            throw .invalidInput(
                name: "image",
                reason:
                    "expected a data: URI or /data/local-files/?d=PATH, found \"\(beginning.prefix(100))\"; addresses are "
                    + "not fetched")
        }
    }

    /// The path that a local file's address names; nil for another address. Label Studio writes its own address before
    /// it if it knows that.
    private static func file(_ text: String) -> String? {
        let route = "/data/local-files/"
        var rest = Substring(text)
        if !rest.hasPrefix("/"), let scheme = rest.firstRange(of: "://") {
            rest = rest[scheme.upperBound...]
            rest = rest.firstIndex(of: "/").map { rest[$0...] } ?? ""
        }
        guard let question = rest.firstIndex(of: "?"),
            [route, String(route.dropLast())].contains(String(rest[..<question]))
        else { return nil }
        let query = Array(rest[rest.index(after: question)...].utf8)
        let items = query.withUnsafeBytes { RequestTarget.formItems(of: $0, maximum: 20) }
        return items.first { $0.name == "d" }.flatMap { $0.value.isEmpty ? nil : $0.value }
    }

    /// Estimated nanoseconds of decoding it for a model.
    func time(for model: Model) -> UInt64 { model.reading(start).pictureTime }

    /// The picture. Takes long reads off Swift's pool.
    func image() async throws(InferenceError) -> EncodedImage {
        switch source {
        case .embedded(let body, let place):
            guard place.length > WorkQueue.shortForm else { return try Self.image(body, place) }
            let image: Result<EncodedImage, InferenceError> = await LongDecoding.run(lowPriority: false) { _ in
                Result { () throws(InferenceError) in try Self.image(body, place) }
            }
            return try image.get()
        case .file(let name, let files):
            let bytes: Result<[UInt8], InferenceError> = await LongDecoding.run(lowPriority: false) { _ in
                Result { () throws(InferenceError) in try files.read(name) }
            }
            return EncodedImage(try bytes.get())
        }
    }

    private static func image(_ body: HTTPBody, _ place: LabelBody.Place) throws(InferenceError) -> EncodedImage {
        guard let bytes = body.withUnsafeBytes({ place.base64(in: $0) }) else {
            throw .invalidInput(name: "image", reason: "expected a data: URI with ;base64")
        }
        return EncodedImage(bytes)
    }
}
