import Foundation
import TestSupport
import Testing

/// `ocelli bench` and `ocelli load`, as used by people and programs, in short runs.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct BenchTests {
    private func bench(_ arguments: String...) throws -> Shell.Result {
        try Shell.run(Daemon.binary.path, ["bench"] + arguments)
    }

    @Test("`ocelli bench` without a URL measures engine, decode, pipeline and socket, and their ratio")
    func localBenchmark_ofEverySide_hasRatesAndRatios() throws {
        let result = try bench("--seconds", "600ms", "--concurrency", "4", "--json")
        #expect(result.status == 0, "\(result.errors)")
        let json = result.json
        #expect(json["model"] as? String == "digits" && json["concurrency"] as? Int == 4)
        let sides = json["sides"] as? [String: [String: Any]] ?? [:]
        #expect(Set(sides.keys) == ["engine", "decode", "pipeline", "socket"])
        for (name, side) in sides {
            let rate = side["requests_per_second"] as? [String: Double] ?? [:]
            #expect((rate["median"] ?? 0) > 0 && (side["requests"] as? Int ?? 0) > 0, "\(name)")
            #expect(((side["cpu_us"] as? [String: Double])?["median"] ?? 0) > 0, "\(name)")
        }
        let ratio = json["ratio"] as? [String: Double] ?? [:]
        #expect((ratio["least"] ?? 0) > 0 && (ratio["least"] ?? 0) <= (ratio["most"] ?? 0))
        #expect((json["generator_cpu_us"] as? [String: Double])?["median"] ?? 0 > 0)
        #expect(json["warnings"] is [String])
    }

    @Test("`ocelli bench` measures the model folder and the pictures that are its arguments")
    func modelAndPicturesAreTheCallers() throws {
        let root = SharedData.packageRoot.path
        let result = try bench(
            "\(root)/models/digits", "\(root)/examples/seven.png", "\(root)/examples/three.png", "--seconds", "300ms")
        #expect(result.status == 0, "\(result.errors)")
        for words in ["2 pictures", "engine alone", "Through the socket : in process"] {
            #expect(result.text.contains(words), "\(words): \(result.text)")
        }
        #expect(!result.text.contains("budget"), "the developers' targets are not shown to users")
    }

    /// Its networks have pictures of a fixed size, of a list of sizes, and of a range.
    @Test(
        "`ocelli bench` measures each side of models whose picture size is open",
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
    func openSizesAreMeasured() throws {
        let script = SharedData.packageRoot.appendingPathComponent("Benchmarks/coreml-sizes/run").path
        let result = try Shell.run(
            "python3", [script], environment: ["OCELLI": Daemon.binary.path, "ROUNDS": "1", "SECONDS": "0.2"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text.matches(of: /\| (fixed|range|list) \| [\d.]+ us/).count == 6, "\(result.text)")
    }

    @Test("`ocelli bench URL --rate 40` for half a second sends 20 requests, and all are answered with 200")
    func aLoadAtARateIsAnswered() throws {
        let daemon = try Daemon()
        let result = try bench(
            daemon.url, "--rate", "40", "--seconds", "500ms", "--warm-up", "100ms", "--json")
        #expect(result.status == 0, "\(result.errors)\(result.text)")
        let step = (result.json["steps"] as? [[String: Any]])?.first ?? [:]
        #expect(step["due"] as? Int == 20 && step["sent"] as? Int == 20)
        #expect(step["statuses"] as? [String: Int] == ["200": 20])
        #expect((step["latency_ms"] as? [String: Double])?["count"] == 20)
        #expect(daemon.stop() == 0)
    }

    @Test("`--slo` finds the highest rate that holds the objective; failed requests break the objective")
    func theHighestRateThatHoldsAnObjectiveIsTheAnswer() throws {
        let daemon = try Daemon(["--access-log=false"])
        let short = ["--seconds", "300ms", "--warm-up", "0s"]
        let found = try Shell.run(
            Daemon.binary.path, ["bench", daemon.url, "--slo", "p99<10s", "--json"] + short)
        #expect(found.status == 0, "\(found.errors)\(found.text)")
        let slo = found.json["slo"] as? [String: Any] ?? [:]
        #expect(slo["holds"] as? Bool == true && (slo["rate"] as? Double ?? 0) > 0, "\(found.text)")
        let rates = (found.json["steps"] as? [[String: Any]] ?? []).compactMap { $0["rate"] as? Double }
        #expect(rates.count > 1 && rates == rates.sorted() && rates.contains(slo["rate"] as? Double ?? 0))
        // With one rate, the report says whether the objective holds. Errors are not answers, however fast they are.
        let refused = try Shell.run(
            Daemon.binary.path, ["bench", daemon.url + "/v1/nothing", "--slo", "p99<10s", "--rate", "20"] + short)
        #expect(refused.status == 1)
        #expect(
            refused.text.hasPrefix(
                "p99 < 10s does not hold at any rate that was tried; at 20.0/s: 6 of 6 requests failed"))
        let wrong = try bench(daemon.url, "--slo", "99<10s")
        #expect(wrong.status == 2 && wrong.errors.contains("--slo: expected a percentile"), "\(wrong.errors)")
        #expect(daemon.stop() == 0)
    }

    /// Answers that arrived while the generator was stopped count as in time, and requests that it sends late are
    /// waited for.
    @Test("a load generator that was stopped for seconds reports no failure of the server")
    func aStandstillOfTheGeneratorIsNotTheServers() throws {
        let daemon = try Daemon()
        let loads = try [["--connections", "8"], ["--rate", "10"]].map { loop in
            let process = Process(), output = Pipe()
            process.executableURL = Daemon.binary
            process.arguments =
                ["bench", daemon.url, "--seconds", "1s", "--warm-up", "0s", "--timeout", "2s", "--json"] + loop
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
            return (process, output, loop)
        }
        let began = try eventually(every: 0.01) {
            let counted = try Curl.run(daemon.url + "/v1/models/digits").json["predictions"] as? [String: Any]
            return counted?["succeeded"] as? Int ?? 0 > 20
        }
        #expect(began)
        // Beyond the end of the loads, and beyond the time for which answers are waited for after it.
        for (process, _, _) in loads { kill(process.processIdentifier, SIGSTOP) }
        usleep(3_200_000)
        for (process, _, _) in loads { kill(process.processIdentifier, SIGCONT) }
        for (process, output, loop) in loads {
            let data = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            let json = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
            let step = (json["steps"] as? [[String: Any]])?.first ?? [:]
            let due = try #require(step["due"] as? Int, "\(loop): \(json)")
            #expect(
                step["failures"] as? [String: Int] == [:] && step["statuses"] as? [String: Int] == ["200": due],
                "\(step)")
            #expect(process.terminationStatus == 0, "\(loop)")
        }
        #expect(daemon.stop() == 0)
    }

    @Test("a sweep over a Unix socket writes its report as an HTML page and an SVG chart")
    func bench_sweep_writesPageAndPicture() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let socket = folder.appendingPathComponent("s").path
        let daemon = try Daemon(listen: "unix:\(socket)")
        let page = folder.appendingPathComponent("a.html").path, picture = folder.appendingPathComponent("a.svg").path
        let result = try bench(
            "unix:\(socket)", SharedData.packageRoot.path + "/examples/seven.png", "--sweep", "20,40", "--no-keepalive",
            "--seconds", "300ms", "--warm-up", "0", "--html", page, "--svg", picture)
        #expect(result.status == 0, "\(result.errors)\(result.text)")
        #expect(result.text.contains("open loop, connections new for each request, 1 picture"), "\(result.text)")
        let svg = try String(contentsOfFile: picture, encoding: .utf8)
        #expect(svg.hasPrefix("<svg") && svg.contains("Latency against load") && svg.contains("p99.9"))
        #expect(try String(contentsOfFile: page, encoding: .utf8).contains("<td>20.0</td>"))
        #expect(daemon.stop() == 0)
    }

    /// A report overwrites only reports; an unwritable path is reported before any measurement.
    @Test("`ocelli bench` refuses a report path that holds another file, is a folder or cannot be written")
    func nobodysPictureIsOverwritten() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let picture = folder.appendingPathComponent("p.png")
        let content = try Data(contentsOf: BadInputTests.seven)
        try content.write(to: picture)
        for (arguments, words) in [
            (["--html", picture.path], "is not a report"), (["--html", folder.path], "is a folder"),
            (["--svg", folder.path + "/none/x.svg"], "\(folder.path)/none does not exist"),
            (["--html", "--rate", "5"], "--html needs a value"),
        ] {
            // Nothing listens there: a later failure would have another message.
            let result = try Shell.run(Daemon.binary.path, ["bench", "localhost:1"] + arguments)
            #expect(result.status != 0 && result.errors.contains(words), "\(result.errors)")
        }
        #expect(try Data(contentsOf: picture) == content)
    }

    @Test("a load whose requests fail ends with status 1 and quotes the server's errors")
    func errorsAreTheExitStatusAndAreQuoted() throws {
        let daemon = try Daemon()
        let result = try bench("\(daemon.url)/v1/models/nothing/classify", "--seconds", "200ms", "--connections", "1")
        #expect(result.status == 1)
        #expect(result.text.contains("× 404") && result.text.contains("model_not_found"), "\(result.text)")
        let healthy = try bench("\(daemon.url)/healthz", "--get", "--seconds", "200ms", "--warm-up", "0")
        #expect(healthy.status == 0 && healthy.text.contains("closed loop"), "\(healthy.text)\(healthy.errors)")
        #expect(daemon.stop() == 0)
    }

    @Test(
        "a wrong argument of `ocelli bench` ends with status 2 and a message",
        arguments: [
            (["https://localhost/"], "only http"),
            (["http://localhost:1", "--rate", "0"], "--rate: expected a rate from 0.1 to 200000"),
            (["http://localhost:1", "--sweep", "5..1"], "--sweep: expected rates as"),
            (["http://localhost:1", "--sweep", "5", "--rate", "3"], "exclude each other"),
            (["http://localhost:1", "--connections", "5000"], "from 1 to 4096"),
            (["http://localhost:1", "--seconds", "2h"], "--seconds: expected a time from 100ms to 1h"),
            (["http://localhost:1", "--concurrency", "2"], "is not a flag of `ocelli load`, but of `ocelli bench`"),
            (["http://localhost:1", "--header", "Host: x"], "set by the load generator"),
            (["--rate", "5"], "is not a flag of `ocelli bench`, but of `ocelli load`"),
            (["--concurrency", "0"], "from 1 to 256"),
            (["--json=report.json"], "--json takes no value"),
            (["http://localhost:1", "--json=report.json"], "--json takes no value"),
            (["http://localhost:1", "--sweeep", "5"], "--sweep"),
        ])
    func wrongUseIsReported(_ arguments: [String], _ words: String) throws {
        let result = try Shell.run(Daemon.binary.path, ["bench"] + arguments)
        #expect(result.status == 2)
        #expect(result.errors.contains(words), "\(result.errors)")
    }

    @Test("`ocelli bench` names a missing model, a missing picture, a text file and an unreachable server")
    func whatIsNotThereIsNamed() throws {
        #expect(try bench("--model", "nothing").errors.contains("\"nothing\""))
        // Files of every format are models, not pictures.
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-bench-\(UUID().uuidString).pb")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("no model".utf8).write(to: file)
        let errors = try bench(file.path).errors
        #expect(errors.contains("model \"\(file.deletingPathExtension().lastPathComponent)\""), "\(errors)")
        let text = SharedData.packageRoot.appendingPathComponent("README.md").path
        #expect(try bench(text).errors.contains("README.md: this looks like text"))
        #expect(try bench("missing.jpg").errors.contains("missing.jpg: cannot be read: no such file"))
        #expect(try bench("http://127.0.0.1:1/x").errors.contains("cannot connect to http://127.0.0.1:1/x"))
    }
}
