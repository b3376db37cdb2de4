internal import HTTPServer
internal import Inference
internal import JSON
internal import Settings
internal import SystemSupport
internal import Tasks
internal import WireFormats

/// The body of OpenAI's `POST /v1/embeddings`: a model, and texts and pictures to embed.
struct EmbeddingsBody: Sendable {
    /// The form of a vector: numbers, or the base64 text of 32-bit floats, little-endian.
    enum Encoding: String, CaseIterable, Sendable {
        case float, base64
    }

    let model: String
    let items: [MixedEmbedder.Item]
    let encoding: Encoding

    /// The name of an input in errors.
    static func place(_ index: Int) -> String { "input[\(index)]" }

    /// - Throws: 400 for a body that is not JSON, or has other members or values than Ocelli takes.
    init(_ body: HTTPBody, _ settings: Settings) throws(ServiceError) {
        let result: Result<Parser, JSONError> = body.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in
                var parser = Parser(maximum: settings.maxBatch)
                try parser.read(bytes)
                return parser
            }
        }
        let parser = try result.mapError { ServiceError($0) }.get()
        guard let model = parser.model else {
            throw .invalidInput(
                "\"model\" is missing: expected the name of a model that embeds; /v1/models lists the models")
        }
        guard !parser.items.isEmpty else {
            throw .invalidInput("\"input\": expected 1 to \(settings.maxBatch) texts or pictures, found none")
        }
        for (index, item) in parser.items.enumerated() {
            guard case .text(let text) = item else { continue }
            try TextBody.check(text, settings, parser.isList ? Self.place(index) : "input")
        }
        (self.model, items, encoding) = (model, parser.items, parser.encoding)
    }

    private struct Parser {
        let maximum: Int
        var model: String?
        var items: [MixedEmbedder.Item] = []
        var isList = false
        var encoding = Encoding.float

        init(maximum: Int) { self.maximum = maximum }

        private static let names = ["model", "input", "encoding_format", "user"]
        private static let pictureForm = "{\"image\": \"data:image/jpeg;base64,...\"}"

        mutating func read(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
            var scanner = JSONScanner(bytes)
            try scanner.object("the body") { (key, scanner) throws(JSONError) in
                switch key {
                case "model":
                    let name = try scanner.string("\"model\"")
                    guard !name.isEmpty else { throw .value("\"model\": expected the name of a model, found \"\"") }
                    model = name
                case "input": try readInput(&scanner)
                case "encoding_format":
                    if try scanner.takesNull() { return }
                    let name = try scanner.string("\"encoding_format\"")
                    guard let found = Encoding(rawValue: name) else {
                        throw .value(
                            "\"encoding_format\": expected \"float\" or \"base64\", found \"\(name.prefix(60))\"")
                    }
                    encoding = found
                case "user": try scanner.skip()
                case "dimensions":
                    if try scanner.takesNull() { return }
                    throw .value(
                        "\"dimensions\" is not supported: a vector has as many numbers as the model gives; leave it out"
                    )
                default:
                    throw .value(
                        "unknown member \"\(key.prefix(60))\"\(Spelling.hint(for: key, among: Self.names)); expected "
                            + Self.names.map { "\"\($0)\"" }.joined(separator: ", "))
                }
            }
            try scanner.end()
        }

        private mutating func readInput(_ scanner: inout JSONScanner) throws(JSONError) {
            (items, isList) = ([], false)
            guard try scanner.kind() == .array else {
                items = [try item(&scanner, "input")]
                return
            }
            isList = true
            try scanner.array { (index, scanner) throws(JSONError) in
                guard index < maximum else {
                    throw .value("\"input\" has more than \(maximum) elements, the limit (max_batch)")
                }
                items.append(try item(&scanner, EmbeddingsBody.place(index)))
            }
        }

        private func item(_ scanner: inout JSONScanner, _ place: String) throws(JSONError) -> MixedEmbedder.Item {
            switch try scanner.kind() {
            case .string: return .text(try scanner.string())
            case .object: return .picture(try picture(&scanner, place))
            case .number, .array:
                throw .value(
                    "\(place): token ids are not supported, because other tokenizers have other ids: send the text itself"
                )
            case let kind: throw .value("\(place): expected a text, or \(Self.pictureForm), found \(kind.rawValue)")
            }
        }

        private func picture(_ scanner: inout JSONScanner, _ place: String) throws(JSONError) -> EncodedImage {
            var image: EncodedImage?
            try scanner.object { (key, scanner) throws(JSONError) in
                guard key == "image" else {
                    throw .value("\(place): expected \(Self.pictureForm), found the member \"\(key.prefix(60))\"")
                }
                try scanner.expect(.string, "\(place): \"image\"")
                image = try encodedImage(&scanner, place)
            }
            guard let image else { throw .value("\(place): expected \(Self.pictureForm), found an empty object") }
            return image
        }

        /// Reads a data: URL. Other URLs are refused: nothing is fetched.
        private func encodedImage(_ scanner: inout JSONScanner, _ place: String) throws(JSONError) -> EncodedImage {
            var ahead = scanner
            let range = try ahead.rawString().range
            // JSON may write "/" as "\/".
            let start = String(decoding: scanner.text[range].prefix(200), as: UTF8.self).replacing("\\/", with: "/")
            guard start.lowercased().hasPrefix("data:") else {
                let isAddress = start.contains("://")
                throw .value(
                    "\(place): \"image\": expected a data: URL (data:image/jpeg;base64,...), found "
                        + "\(isAddress ? "the address " : "")\"\(start.prefix(60))\""
                        + (isAddress ? "; Ocelli fetches nothing" : ""))
            }
            var image = EncodedImage(
                try scanner.base64 { .value("\(place): \"image\": expected a data: URL with ;base64, found \($0)") })
            let header = start.dropFirst("data:".count).prefix { $0 != "," }
            if header.hasSuffix(";base64") { image.take(type: String(header.dropLast(";base64".count))) }
            return image
        }
    }
}
