internal import FoundationEssentials
internal import InferenceService
internal import LoadGenerator
internal import Tools

/// `ocelli bench`: the ceilings of this machine, or a server under load.
enum BenchCommand: Command {
    static let name = "bench"
    static let summary = "Measure what this machine can do, or put a server under load (`ocelli bench URL`)."

    static var help: String {
        """
        Usage: ocelli bench [MODEL] [PICTURE...] [--seconds S] [--concurrency N] [--json] [SETTINGS]
               ocelli bench URL [PICTURE...] [--rate R | --sweep RATES] [--slo OBJECTIVE] [OPTIONS]

        Without a URL, measures the ceilings of this machine, in turn and in one process: the engine alone, decoding alone,
        both together as in the daemon, and the same through a socket (POST /v1/classify on loopback, or /v1/detect,
        /v1/segment, ... for models of these tasks). Reports how close the last is to the one before it, and how much
        processor time Ocelli adds.

        MODEL is a bundle's folder, a model file, or with --model a name. Default: the model that comes with Ocelli.
        Pictures are sent in turn. Default: a drawn digit.

          ocelli bench
          ocelli bench ./models/mobilenet cat_720p.jpg --seconds 20

          --model NAME      The model, by its name in the folders of --models.
          --seconds S       How long to measure each of the four. Default: 8s.
          --concurrency N   Parallel requests and connections. Default: 8.
          --json            The report as one JSON object.

        With a URL (http://HOST:PORT[/PATH], HOST:PORT, unix:SOCKET or http://unix:SOCKET:/PATH; the default path is
        \(LoadTarget.defaultPath)), runs a load test. With a rate, requests are sent on schedule, even if the server does not
        keep up (an open loop), and latency is measured from the scheduled time. Without a rate, each connection waits for
        its answer before it sends again (a closed loop).

          ocelli bench localhost:8080 cat.jpg --rate 50
          ocelli bench http://10.0.0.5:8080 *.jpg --sweep 20..200 --html latency.html

          --rate R          Requests a second.
          --sweep RATES     Several rates in turn: 50,100,200, or 20..200 (eight), or 20..200/4; auto: around the rate of a
                            closed loop.
          --slo OBJECTIVE   Finds the highest rate at which the objective holds, such as "p99<50ms": a percentile of the
                            latency below a time, with no request failed. With --rate or --sweep: up to which of these.
          --connections N   Connections, 1 to 4096: a closed loop uses all of them (default 8), an open loop as many as it
                            needs up to this number (default 256).
          --seconds S       How long each load lasts. Default: 10s.
          --warm-up S       Unmeasured time before each load. Default: 1s.
          --timeout S       Maximum time of a request. Default: 30s.
          --no-keepalive    A new connection for each request.
          --get             Send GET requests without a picture.
          --header FIELD    Add a field to each request, such as "Authorization: Bearer TOKEN". May be repeated.
          --json FILE       Write the report as JSON; "-" writes it to standard output instead of the text.
          --html FILE       Write a page with a chart of latency against load, and the table.
          --svg FILE        Write the chart alone.

        Exits with 1 if a request failed; with --slo, if the objective holds at no rate. The settings of `ocelli help serve` about running models apply to the ceilings.
        """
    }

    static let flags = BenchArguments.flags

    static func run(_ arguments: [String]) async throws -> Int32 {
        let command = try BenchArguments(arguments)
        if let request = command.load {
            do {
                let result = try await LoadMaker.run(
                    request, settings: try command.settings(), progress: { Terminal.progress($0) },
                    complain: Terminal.complain)
                Terminal.print(result.text)
                return result.isClean ? 0 : 1
            } catch let error as LoadError {
                throw BenchFailure(error.description)
            }
        }
        Terminal.print(
            try await CeilingMaker.run(
                command.ceilings, settings: try command.settings(), progress: { Terminal.progress($0) }))
        return 0
    }

    private struct BenchFailure: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }
}
