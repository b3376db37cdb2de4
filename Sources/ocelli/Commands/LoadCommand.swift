internal import FoundationEssentials
internal import InferenceService
internal import LoadGenerator
internal import Settings
internal import Tools

/// `ocelli load`: puts a server under load.
enum LoadCommand: Command {
    static let name = "load"
    static let runsModels = false
    static let summary = "Put a server under load, at a rate or with a number of connections, and measure its answers."
    static let usage = ["URL [PICTURE...] [--rate R | --sweep RATES] [--slo OBJECTIVE] [--json] [OPTIONS]"]

    static var about: String {
        """
        Sends pictures to a server, Ocelli or another (http://HOST:PORT[/PATH], HOST:PORT, unix:SOCKET or
        http://unix:SOCKET:/PATH; the default path is \(LoadTarget.defaultPath)). With a rate, requests are sent on schedule, even
        if the server does not keep up (an open loop), and latency is measured from the scheduled time. Without a rate, each
        connection waits for its answer before it sends again (a closed loop). Pictures are sent in turn. Default: a drawn
        digit.

          ocelli load localhost:8080 cat.jpg --rate 50
          ocelli load http://10.0.0.5:8080 *.jpg --sweep 20..200 --html latency.html
          ocelli load localhost:8080 cat.jpg --slo "p99<50ms"
        """
    }

    static var flags: [Flag<LoadRequest>] {
        [
            Flag("--rate", "R", "Requests a second.") { request, flag, text in
                try checked(flag) { () throws(LoadError) in
                    guard let rate = Double(text) else {
                        throw LoadError("expected a number of requests a second, found \"\(text)\"")
                    }
                    try setMode(.rates([try RateList.checked(rate)]), of: &request)
                }
            },
            Flag(
                "--sweep", "RATES",
                """
                Several rates in turn: 50,100,200, or 20..200 (eight), or 20..200/4; auto: around the rate of a closed \
                loop.
                """
            ) { request, flag, text in
                try checked(flag) { () throws(LoadError) in
                    try setMode(text == "auto" ? .automatic : .rates(try RateList.parse(text)), of: &request)
                }
            },
            Flag(
                "--slo", "OBJECTIVE",
                """
                Finds the highest rate at which the objective holds, such as "p99<50ms": a percentile of the latency \
                below a time with its unit, with no request failed. With --rate or --sweep: the highest of these rates.
                """
            ) { request, flag, text in
                try checked(flag) { () throws(LoadError) in
                    request.objective = try ServiceObjective(parsing: text, duration: Units.parseDuration)
                }
            },
            .number(
                "--connections", "N", \.connections, in: LoadPlan.connectionBounds,
                """
                Connections, 1 to 4096: a closed loop uses all of them (default 8), an open loop as many as it needs up \
                to this number (default 256).
                """),
            .duration(
                "--seconds", "S", \.seconds, in: LoadPlan.secondsBounds, "How long each load lasts. Default: 10s."),
            .duration(
                "--warm-up", "S", \.warmUp, in: LoadPlan.warmUpBounds, "Unmeasured time before each load. Default: 1s."),
            .duration(
                "--timeout", "S", \.timeout, in: LoadPlan.timeoutBounds, "Maximum time of a request. Default: 30s."),
            .toggle("--no-keepalive", \.keepAlive, to: false, "A new connection for each request."),
            .toggle("--get", \.isGet, "Send GET requests without a picture."),
            Flag(
                "--header", "FIELD",
                "Add a field to each request, such as \"Authorization: Bearer TOKEN\". May be repeated."
            ) { request, flag, text in
                try checked(flag) { () throws(LoadError) in request.fields.append(try RequestBytes.field(text)) }
            },
            .json(\.isJSON, "Print the report as one JSON object."),
            .text("--html", "FILE", \.htmlFile, "Write a page with a chart of latency against load, and the table."),
            .text("--svg", "FILE", \.svgFile, "Write only the chart."),
        ]
    }

    static let notes = "Exits with 1 if a request failed; with --slo, if the objective holds at no rate."
    static var initial: LoadRequest { LoadRequest() }

    /// True if an argument is the address of a server, not a file.
    static func isURL(_ word: String) -> Bool {
        !word.hasPrefix("-") && LoadTarget.looksLikeURL(word) && !FileManager.default.fileExists(atPath: word)
    }

    static func take(word: String, into request: inout LoadRequest) throws {
        // Accept the old form `--json -`, from when the flag named a file.
        if word == "-", request.isJSON { return }
        guard isURL(word) else { return request.pictures.append(word) }
        guard request.url.isEmpty else { throw UsageError("\"\(word)\": one URL at a time") }
        request.url = word
    }

    static func run(_ request: LoadRequest, settings: SettingsFlags) async throws -> Int32 {
        guard !request.url.isEmpty else {
            throw UsageError("no URL given: ocelli load http://localhost:8080 PICTURE; `ocelli help load` shows how")
        }
        if request.isGet, !request.pictures.isEmpty {
            throw UsageError("--get sends no picture: remove the pictures")
        }
        do { _ = try LoadTarget(parsing: request.url) } catch { throw UsageError(error.description) }
        do {
            let result = try await LoadMaker.run(
                request, settings: try settings.resolve(), progress: { Terminal.progress($0) },
                complain: Terminal.complain)
            Terminal.print(result.text)
            return result.isClean ? 0 : 1
        } catch let error as LoadError {
            throw LoadFailure(error.description)
        }
    }

    private static func setMode(_ mode: LoadRequest.Mode, of request: inout LoadRequest) throws(LoadError) {
        guard case .closed = request.mode else { throw LoadError("--rate and --sweep exclude each other") }
        request.mode = mode
    }

    private static func checked(_ flag: String, _ body: () throws(LoadError) -> Void) throws {
        do throws(LoadError) { try body() } catch { throw UsageError("\(flag): \(error.description)") }
    }

    private struct LoadFailure: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }
}
