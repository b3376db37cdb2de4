package import HTTPServer
package import HTTPWire
internal import JSON
package import Settings
package import WireFormats

/// The texts of a request to `embed`: the body itself (`text/plain`), or `{"texts": [text, …]}`.
package struct TextBody: Sendable {
    package let texts: [String]
    /// True if the answer is a list.
    package let isList: Bool

    /// The types of bodies with texts.
    private enum Form {
        case plain, json
    }

    /// True if a body of this type has texts.
    package static func isText(_ head: RequestHead) -> Bool { form(head) != nil }

    /// True if a body of this type is one text.
    package static func isPlain(_ head: RequestHead) -> Bool { form(head) == .plain }

    private static func form(_ head: RequestHead) -> Form? {
        switch mediaType(head).type {
        case "text/plain": .plain
        case "application/json": .json
        default: nil
        }
    }

    private static func mediaType(_ head: RequestHead) -> (type: String, charset: String?) {
        let parts = (head.value(of: "content-type") ?? "").lowercased().split(separator: ";").map { part in
            part.drop { $0 == " " || $0 == "\t" }
        }
        let type = parts.first.map { $0.prefix { $0 != " " && $0 != "\t" } } ?? ""
        let charset = parts.dropFirst().lazy.filter { $0.hasPrefix("charset=") }.first.map {
            $0.dropFirst("charset=".count).filter { $0 != "\"" && $0 != " " }
        }
        return (String(type), charset.map { String($0) })
    }

    /// Refuses another charset than UTF-8, with 415.
    package static func checkCharset(_ head: RequestHead) throws(ServiceError) {
        guard let charset = mediaType(head).charset, charset != "utf-8", charset != "utf8" else { return }
        throw ServiceError(
            .unsupportedMediaType, "texts in the charset \"\(charset.prefix(40))\" are not supported: send UTF-8")
    }

    /// Reads a body.
    package init(_ request: HTTPRequest, _ settings: Settings) throws(ServiceError) {
        isList = Self.form(request.head) == .json
        texts = isList ? try Self.list(request, settings) : [try Self.plain(request)]
        for (index, text) in texts.enumerated() {
            try Self.check(text, settings, isList ? "texts[\(index)]" : "the text")
        }
    }

    /// Refuses a text that is too long.
    package static func check(_ text: String, _ settings: Settings, _ place: String) throws(ServiceError) {
        guard text.utf8.count > settings.maxText else { return }
        throw .invalidInput(
            "\(place) has \(text.utf8.count) bytes: the limit is \(settings.maxText) (max_text)")
    }

    private static func plain(_ request: HTTPRequest) throws(ServiceError) -> String {
        let text = request.body.withUnsafeBytes { String(validating: $0, as: UTF8.self) }
        guard let text else { throw .invalidInput("the text is not valid UTF-8") }
        return text
    }

    private static func list(_ request: HTTPRequest, _ settings: Settings) throws(ServiceError) -> [String] {
        var texts: [String]?
        do throws(JSONError) {
            try request.body.withUnsafeBytes { (bytes) throws(JSONError) in
                var scanner = JSONScanner(bytes)
                try scanner.object("the body") { (key, scanner) throws(JSONError) in
                    guard key == "texts" else {
                        throw .value(
                            "unknown member \"\(key.prefix(60))\"; expected {\"texts\": [\"a cat\", \"a dog\"]}")
                    }
                    try scanner.expect(.array, "\"texts\"")
                    var found: [String] = []
                    try scanner.array { (index, scanner) throws(JSONError) in
                        guard index < settings.maxBatch else {
                            throw .value("\"texts\" has more than \(settings.maxBatch) elements, the limit (max_batch)")
                        }
                        found.append(try scanner.string("\"texts[\(index)]\""))
                    }
                    texts = found
                }
                try scanner.end()
            }
        } catch {
            throw ServiceError(error)
        }
        guard let texts, !texts.isEmpty else {
            throw .invalidInput("\"texts\": expected 1 to \(settings.maxBatch) texts, found none")
        }
        return texts
    }
}
