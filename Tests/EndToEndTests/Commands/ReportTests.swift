import Foundation
import TestSupport
import Testing

/// `ocelli report`, as used by people and programs.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct ReportTests {
    private func report(_ arguments: String...) throws -> Shell.Result {
        try Shell.run(Daemon.binary.path, ["report", "--seconds", "100ms"] + arguments)
    }

    @Test("`ocelli report --json` has load times, latencies, throughput, layers, memory and warnings")
    func jsonHasEveryFigure() throws {
        let result = try report("digits", "--json", "--layers", "3")
        #expect(result.status == 0, "\(result.errors)")
        let json = result.json
        #expect((json["model"] as? String) == "digits")
        let load = json["load_ms"] as? [String: [String: Any]] ?? [:]
        #expect(load["uncached"]?["from_cache"] as? Bool == false)
        #expect(load["cached"]?["from_cache"] as? Bool == true)
        #expect((json["first_prediction_ms"] as? Double ?? 0) > 0)
        let latency = json["prediction_ms"] as? [String: Double] ?? [:]
        let p50 = latency["p50"] ?? 0, p90 = latency["p90"] ?? 0, p99 = latency["p99"] ?? 0
        #expect(0 < p50 && p50 <= p90 && p90 <= p99)
        let throughput = json["throughput"] as? [[String: Any]] ?? []
        #expect(throughput.compactMap { $0["in_flight"] as? Int } == Array(1...throughput.count))
        #expect(throughput.count == json["slots"] as? Int)
        #expect(throughput.allSatisfy { ($0["predictions_per_second"] as? Double ?? 0) > 0 })
        #expect((json["layers"] as? [Any])?.count == 3)
        let types = json["layer_types"] as? [[String: Any]] ?? []
        let shares = types.reduce(0) { $0 + ($1["share"] as? Double ?? 0) }
        #expect(abs(shares - 1) < 1e-6)
        #expect(json["memory_bytes"] is [String: Any])
        #expect(json["warnings"] is [String])
    }

    @Test("`ocelli report` of a bundle's path prints times, throughput and layer types as text")
    func textIsForPeopleAndKnowsPathsToo() throws {
        let path = SharedData.packageRoot.appendingPathComponent("models/digits").path
        let result = try report(path, "--in-flight", "2")
        #expect(result.status == 0, "\(result.errors)")
        for word in ["uncached", "cached", "median", "p99", "predictions/s", "in flight", "Time by type of layer"] {
            #expect(result.text.contains(word), "\(word): \(result.text)")
        }
    }

    /// The reported precision is the one of the computation, not the requested one.
    @Test("`ocelli report --precision bf16` reports f32 if the processor has no BF16")
    func thePrecisionIsTheOneThatIsComputed() throws {
        let result = try report("digits", "--json", "--precision", "bf16")
        let hasBFloat16 = try Shell.run(Daemon.binary.path, ["devices"]).text.contains("BF16")
        #expect(result.json["precision"] as? String == (hasBFloat16 ? "bf16" : "f32"))
        #expect(try report("digits", "--json").json["precision"] as? String == "f32")
    }

    @Test("an interrupted `ocelli report` ends with status 130 and leaves no temporary files")
    func anInterruptedReportCleansUp() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-report-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let process = Process()
        process.executableURL = Daemon.binary
        process.arguments = ["report", "digits", "--seconds", "60s"]
        process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": folder.path + "/"]) { $1 }
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        func entries() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: folder.path).count }
        for _ in 0..<600 where try entries() == 0 && process.isRunning { usleep(50_000) }
        #expect(try entries() == 1)
        process.interrupt()
        process.waitUntilExit()
        #expect(process.terminationStatus == 130 && process.terminationReason == .exit)
        #expect(try entries() == 0)
    }

    @Test("`ocelli report` names an unknown model and a wrong flag value")
    func whatIsNotThereIsNamed() throws {
        let missing = try report("nothing")
        #expect(missing.status == 1)
        #expect(missing.errors.contains("\"nothing\"") && missing.errors.contains("\"digits\""), "\(missing.errors)")
        #expect(try report().status == 2)
        #expect(try report("digits", "--in-flight", "0").errors.contains("from 1 to 64"))
    }
}
