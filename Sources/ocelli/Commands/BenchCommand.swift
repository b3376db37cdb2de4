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
               ocelli bench URL [PICTURE...] [--rate R | --sweep RATES] [--connections N] [OPTIONS]

        Without a URL: the ceilings. Measures the engine alone, decoding alone, both as the daemon puts them together in
        process, and the same through a socket (POST /v1/classify on loopback, or /v1/detect, /v1/segment, ... where the
        model does that), in turns in one process, and says how near the last comes to the one before it, and how much
        processor time is Ocelli's own.

        MODEL is a bundle's folder or a model file, or a name with --model; without it the model that came with Ocelli.
        Pictures are sent in turn; without any, a drawn digit is.

          ocelli bench
          ocelli bench ./models/mobilenet cat_720p.jpg --seconds 20

          --model NAME      The model, by its name in the folders of --models.
          --seconds S       How long each of the four is measured. Default: 8s.
          --concurrency N   Requests, and connections, at once. Default: 8.
          --json            The report as one JSON object.

        With a URL (http://HOST:PORT[/PATH], HOST:PORT, unix:SOCKET or http://unix:SOCKET:/PATH; without a path
        \(LoadTarget.defaultPath)): a load test. With a rate, requests are sent when they are due, whatever the server does
        (an open loop), and latency counts from then; without one, each connection waits for its answer (a closed loop).

          ocelli bench localhost:8080 cat.jpg --rate 50
          ocelli bench http://10.0.0.5:8080 *.jpg --sweep 20..200 --html latency.html

          --rate R          Requests a second.
          --sweep RATES     Several rates, one after another: 50,100,200, or 20..200 (eight), or 20..200/4; auto: around
                            what a closed loop gets.
          --connections N   Connections at once, 1 to 4096: all are used in a closed loop (default 8), as many as are
                            needed in an open one (default 256).
          --seconds S       How long each load lasts. Default: 10s.
          --warm-up S       Before that, not measured. Default: 1s.
          --timeout S       Maximum time of a request. Default: 30s.
          --no-keepalive    A new connection for each request.
          --get             GET, without a picture.
          --header FIELD    Another field of each request, as "Authorization: Bearer TOKEN". May be repeated.
          --json FILE       The report as JSON; "-" writes it instead of the text.
          --html FILE       A page with the picture of latency against load, and the table.
          --svg FILE        The picture alone.

        Exits with 1 if a request was not answered with success. The settings of `ocelli help serve` that say how models
        run work for the ceilings.
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
