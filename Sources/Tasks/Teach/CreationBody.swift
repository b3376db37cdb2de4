internal import HTTPServer
internal import JSON
internal import Teaching
internal import WireFormats

/// The body of `PUT /v1/taught/{name}`: `{"embedder": "dinov2", "method": "auto"}`.
struct CreationBody: Sendable {
    let embedder: String
    /// The method; nil if not given.
    let method: MethodChoice?

    init(_ request: HTTPRequest) throws(ServiceError) {
        try request.head.refuseContentCodings()
        var embedder: String?, method: String?
        do throws(JSONError) {
            try request.body.withUnsafeBytes { (bytes) throws(JSONError) in
                var scanner = JSONScanner(bytes)
                try scanner.object("the body") { (key, scanner) throws(JSONError) in
                    switch key {
                    case "embedder": embedder = try scanner.string("\"embedder\"")
                    case "method": method = try scanner.string("\"method\"")
                    default:
                        throw .value("unknown member \"\(key.prefix(60))\"; known: embedder, method")
                    }
                }
                try scanner.end()
            }
        } catch {
            throw ServiceError(error)
        }
        guard let embedder, !embedder.isEmpty else {
            throw .invalidInput("\"embedder\" is missing: the name of a model that answers /embed")
        }
        self.embedder = embedder
        if let method {
            guard let choice = MethodChoice(method) else {
                let names = MethodChoice.names.map { "\"\($0)\"" }.joined(separator: ", ")
                throw .invalidInput("\"method\": expected one of \(names), found \"\(method.prefix(60))\"")
            }
            self.method = choice
        } else {
            self.method = nil
        }
    }

    /// Throws 409 if the taught model was created with other values.
    func compare(with old: TaughtModel) throws(ServiceError) {
        let state = old.view.state
        do throws(TeachingError) {
            try TaughtStore.compare(old.name, state, embedder: embedder, method ?? state.choice)
        } catch {
            throw ServiceError(error)
        }
    }
}
