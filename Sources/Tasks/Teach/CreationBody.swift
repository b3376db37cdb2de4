internal import HTTPServer
internal import JSON
internal import Teaching
internal import WireFormats

/// The body of `PUT /v1/taught/{name}`: `{"embedder": "dinov2", "method": "normal", "false_alarms": 0.01}`.
struct CreationBody: Sendable {
    let embedder: String
    /// The method; nil if not given.
    let method: MethodChoice?
    /// True if the share of false alarms is given, not the usual one.
    private let hasFalseAlarms: Bool

    init(_ request: HTTPRequest) throws(ServiceError) {
        try request.head.refuseContentCodings()
        var embedder: String?, method: String?, falseAlarms: Double?
        do throws(JSONError) {
            try request.body.withUnsafeBytes { (bytes) throws(JSONError) in
                var scanner = JSONScanner(bytes)
                try scanner.object("the body") { (key, scanner) throws(JSONError) in
                    switch key {
                    case "embedder": embedder = try scanner.string("\"embedder\"")
                    case "method": method = try scanner.string("\"method\"")
                    case "false_alarms":
                        try scanner.expect(.number, "\"false_alarms\"")
                        guard let share = try scanner.number().double(in: scanner.text) else {
                            throw .value("\"false_alarms\": expected \(Self.allowed), found a number that is too large")
                        }
                        falseAlarms = share
                    default:
                        throw .value("unknown member \"\(key.prefix(60))\"; known: embedder, method, false_alarms")
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
        hasFalseAlarms = falseAlarms != nil
        self.method = try Self.choice(method, falseAlarms)
    }

    private static func choice(_ method: String?, _ falseAlarms: Double?) throws(ServiceError) -> MethodChoice? {
        if let falseAlarms, !MethodChoice.allowedFalseAlarms.contains(falseAlarms) {
            throw .invalidInput("\"false_alarms\": expected \(allowed), found \(falseAlarms)")
        }
        var choice: MethodChoice?
        if let method {
            choice = MethodChoice(method, falseAlarms: falseAlarms ?? MethodChoice.usualFalseAlarms)
            guard choice != nil else {
                let names = MethodChoice.names.map { "\"\($0)\"" }.joined(separator: ", ")
                throw .invalidInput("\"method\": expected one of \(names), found \"\(method.prefix(60))\"")
            }
        }
        guard falseAlarms == nil || choice?.falseAlarms != nil else {
            throw .invalidInput(
                "\"false_alarms\" is for the method \"normal\": the method is \"\(choice?.name ?? "auto")\"")
        }
        return choice
    }

    private static let allowed =
        "a number from \(MethodChoice.allowedFalseAlarms.lowerBound) to \(MethodChoice.allowedFalseAlarms.upperBound)"

    /// Throws 409 if the taught model was created with other values.
    func compare(with old: TaughtModel) throws(ServiceError) {
        let state = old.view.state
        var wanted = method ?? state.choice
        // Without a share, that of the taught model is meant.
        if !hasFalseAlarms, wanted.falseAlarms != nil, state.choice.falseAlarms != nil { wanted = state.choice }
        do throws(TeachingError) {
            try TaughtStore.compare(old.name, state, embedder: embedder, wanted)
        } catch {
            throw ServiceError(error)
        }
    }
}
