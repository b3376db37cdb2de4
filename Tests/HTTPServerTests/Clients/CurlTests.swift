import Foundation
import TestSupport
import Testing

@Suite("curl", .enabled(if: Program.find("curl") != nil, "curl is not installed"))
struct CurlTests {
    private func curl(_ arguments: String..., input: URL? = nil) throws -> String {
        let result = try Program.run("curl", ["-sS", "--max-time", "20"] + arguments, input: input)
        #expect(result.status == 0, "\(result.output)")
        return result.output
    }

    @Test("curl is answered over HTTP/1.0 and HTTP/1.1, with the connection kept")
    func versions() throws {
        let probe = try Probe()
        let url = "http://127.0.0.1:\(probe.port)"
        #expect(try curl("--http1.0", "\(url)/task") == #"{"status":"ok"}"#)
        #expect(
            try curl("\(url)/task", "\(url)/healthz", "-w", "%{num_connects}\n")
                == #"{"status":"ok"}1\#n{"status":"ok"}0\#n"#)
        #expect(try curl("-I", "\(url)/healthz").contains("Content-Length: 15"))
        #expect(try curl("-w", "%{http_code}", "-X", "OPTIONS", "--request-target", "*", url).hasSuffix("404"))
        try probe.expectRest()
    }

    @Test("curl uploads with a length, in chunks from standard input, and with 100-continue")
    func uploads() throws {
        let probe = try Probe()
        let url = "http://127.0.0.1:\(probe.port)/length"
        try Program.withFile(size: 5_000_000) { (file: URL) throws -> Void in
            let sum = "5000000 485000000\n"
            #expect(try curl("--data-binary", "@\(file.path)", url) == sum)
            #expect(try curl("-T", "-", url, input: file) == sum)
            #expect(try curl("-H", "Expect: 100-continue", "-T", file.path, url) == sum)
            #expect(
                try curl("-F", "image=@\(file.path)", url).split(separator: " ").first.flatMap { Int($0) } ?? 0
                    > 5_000_000)
        }
        try probe.expectRest()
    }

    @Test("curl reads the refusal of a 40 MB upload, with Expect and without")
    func refusal() throws {
        let probe = try Probe()
        let url = "http://127.0.0.1:\(probe.port)/length"
        try Program.withFile(size: 40 << 20) { (file: URL) throws -> Void in
            for arguments in [[], ["-H", "Expect:"], ["-H", "Expect:", "-H", "Transfer-Encoding: chunked"]] {
                let result = try Program.run(
                    "curl",
                    [
                        "-sS", "--max-time", "20", "-w", "%{http_code} %{size_upload}", "--data-binary",
                        "@\(file.path)", url,
                    ] + arguments)
                #expect(result.status == 0, "\(result.output)")
                #expect(result.output.contains("body_too_large"))
                #expect(result.output.contains("\n413 "))
                if arguments.isEmpty { #expect(result.output.hasSuffix(" 0"), "nothing is uploaded after a refusal") }
            }
        }
        try probe.expectRest()
    }

    @Test("curl is answered over a Unix-domain socket and over IPv6")
    func otherSockets() throws {
        let path = temporaryPath("curl")
        let probe = try Probe("listen=127.0.0.1:0", "listen=unix:\(path)", "listen=[::1]:0")
        #expect(try curl("--unix-socket", path, "http://any/task") == #"{"status":"ok"}"#)
        #expect(try curl("http://\(probe.addresses[2])/task") == #"{"status":"ok"}"#)
        try probe.expectRest()
    }

    @Test("the request of a killed curl process is cancelled")
    func killed() throws {
        let probe = try Probe()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(Program.find("curl")))
        process.arguments = ["-sS", "http://127.0.0.1:\(probe.port)/sleep?ms=600000"]
        process.standardInput = FileHandle.nullDevice
        try process.run()
        try waitUntil("it runs") { try probe.statistic("running") == 2 }
        kill(process.processIdentifier, SIGKILL)
        try waitUntil("it is cancelled") { try probe.get("/cancelled") == "1\n" }
        process.waitUntilExit()
        try probe.expectRest()
    }
}
