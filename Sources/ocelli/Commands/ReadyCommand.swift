internal import LoadGenerator
internal import Settings

/// `ocelli ready`: a readiness probe for container images without curl.
enum ReadyCommand: Command {
    static let name = "ready"
    static let runsModels = false
    static let summary = "Check whether a running daemon is ready: a probe for containers."
    struct Request {
        var url: String?
        var seconds = 2.0
    }

    static let usage = ["[URL] [--timeout TIME]"]
    static let about = """
        Requests URL (default: http://127.0.0.1:8080/readyz) and exits with 0 if the answer is a success, otherwise with 1 and
        the reason. The default path is /readyz.

          ocelli ready
          ocelli ready http://127.0.0.1:9000/healthz
          ocelli ready unix:/run/ocelli/ocelli.sock
        """

    static var flags: [Flag<Request>] {
        [
            .duration(
                "--timeout", "TIME", \.seconds, in: 0.001...3600,
                "How long to wait for the answer, such as 500ms. Default: 2s.")
        ]
    }

    static let takesSettings = false
    static var initial: Request { Request() }

    static func take(word: String, into request: inout Request) throws {
        guard request.url == nil else { throw UsageError("\"\(word)\" is not expected here: one URL is enough") }
        request.url = word
    }

    static func run(_ request: Request, settings: SettingsFlags) async throws -> Int32 {
        let target = try LoadTarget(parsing: request.url ?? "http://127.0.0.1:8080", defaultPath: "/readyz")
        let answer = try SingleRequest.get(target, milliseconds: Int(request.seconds * 1000))
        guard (200..<300).contains(answer.status) else {
            Terminal.complain("not ready: \(answer.status) \(answer.excerpt)")
            return 1
        }
        Terminal.print("ready")
        return 0
    }
}
