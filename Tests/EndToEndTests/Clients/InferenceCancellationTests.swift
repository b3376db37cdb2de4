import Foundation
import TestSupport
import Testing

/// Clients that disconnect while the engine computes: the engine is asked to stop, and their slot is free as soon as it
/// has stopped.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct InferenceCancellationTests {
    private func inFlight(_ daemon: Daemon) throws -> Int {
        let json = try Curl.run(daemon.url + "/v1/models/slow").json
        return (json["in_flight"] as? [String: Any])?["now"] as? Int ?? -1
    }

    private func cancelled(_ daemon: Daemon, stage: String) throws -> Int {
        let name = "ocelli_cancelled_total{stage=\"\(stage)\"} "
        let line = try Curl.run(daemon.url + "/metrics").text.split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { Int($0.dropFirst(name.count)) } ?? 0
    }

    private func until(_ what: String, _ condition: () throws -> Bool) throws {
        try #require(try eventually(every: 0.01, condition), "\(what): it never came to that")
    }

    /// A request for a model that must be loaded first waits no longer than its deadline.
    @Test("metadata of a lazy model that takes too long to load get 504 after the deadline")
    func metadataOfALazyModelKeepToTheDeadline() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-slow-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try SlowModel.write(into: folder, layers: 40, warmUpRuns: 1)
        let daemon = try Daemon([
            "--models", folder.path, "--load", "lazy", "--load-trial=false", "--deadline", "100ms", "--cache-dir", "",
        ])
        let answer = try Curl.run(daemon.url + "/v2/models/slow")
        #expect(answer.status == 504 && answer.code == "deadline_exceeded", "\(answer.text)")
        #expect(try Curl.run(daemon.url + "/v1/models/slow").json["state"] as? String == "loading")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test(
        "a client that leaves while the engine runs frees its slot; so does a request past its deadline",
        arguments: TestEngines.names)
    func anUploadAbortedWhileTheEngineRunsFreesItsSlot(engine: String) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-slow-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try SlowModel.write(into: folder, layers: 30, engine: engine)
        let daemon = try Daemon([
            "--engine", engine, "--models", folder.path, "--max-in-flight", "2", "--instances", "2", "--queue-length",
            "0",
            "--deadline", "200s", "--cache-dir", "",
        ])
        let picture = CancellationPicture.png(width: 64, height: 64)
        // A client may disconnect before its picture is decoded. The stage is known only afterwards, so repeat until
        // both were cancelled in the engine.
        var round: UInt32 = 0
        while try cancelled(daemon, stage: "infer") < 2 {
            round += 1
            try #require(round <= 10, "no abort was caught in the engine")
            let clients = try (0..<2).map { _ in try RawClient(daemon.url) }
            for client in clients { try client.post(picture) }
            try until("both have a slot") { try inFlight(daemon) == 2 }
            // No slot is free, and no request may wait.
            let refused = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify")
            #expect(refused.status == 503 && refused.code == "overloaded", "\(refused.text)")
            usleep(50_000 * round)
            clients[0].close()
            clients[1].reset()
            try until("the slots are free") { try inFlight(daemon) == 0 }
        }
        let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify?timeout_ms=500")
        #expect(answer.status == 504 && answer.code == "deadline_exceeded", "\(answer.text)")
        try until("a deadline frees the slot too") { try inFlight(daemon) == 0 }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }
}
