internal import LoadGenerator
internal import Settings

/// `ocelli ready`: a probe for images that have no curl.
enum ReadyCommand: Command {
    static let name = "ready"
    static let summary = "Check whether a running daemon is ready: a probe for containers."
    static let help = """
        Usage: ocelli ready [URL] [--timeout TIME]

        Requests URL (default: http://127.0.0.1:8080/readyz) and exits with 0 if the answer is a success, otherwise with 1 and
        the reason. The default path is /readyz.

          ocelli ready
          ocelli ready http://127.0.0.1:9000/healthz
          ocelli ready unix:/run/ocelli/ocelli.sock

          --timeout TIME    How long to wait for the answer, such as 500ms. Default: 2s.
        """

    static let flags = ["--timeout"]

    static func run(_ arguments: [String]) async throws -> Int32 {
        var reader = ArgumentReader(arguments, command: name, known: flags)
        var url: String?
        var seconds = 2.0
        while let argument = reader.next() {
            switch argument {
            case .word(let text):
                guard url == nil else { throw UsageError("\"\(text)\" is not expected here: one URL is enough") }
                url = text
            case .flag("--timeout", let value):
                let text = try reader.value(of: "--timeout", value)
                guard let time = Units.parseDuration(text), (0.001...3600).contains(time) else {
                    throw UsageError("--timeout: expected a time from 1ms to 1h, found \"\(text)\"")
                }
                seconds = time
            case .flag(let flag, _): throw reader.unknown(flag)
            }
        }
        let target = try LoadTarget(parsing: url ?? "http://127.0.0.1:8080", defaultPath: "/readyz")
        let answer = try SingleRequest.get(target, milliseconds: Int(seconds * 1000))
        guard (200..<300).contains(answer.status) else {
            Terminal.complain("not ready: \(answer.status) \(answer.excerpt)")
            return 1
        }
        Terminal.print("ready")
        return 0
    }
}
