import Foundation
import Synchronization
import TestSupport
import Testing

/// A disconnected client stops costing anything, at any stage of its request.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct CancellationTests {
    /// The counts in `/v1/models/digits` of the work in progress and done.
    struct Load: Equatable {
        var now = -1, waiting = -1
        /// Predictions that reached the model, whatever their result.
        var started = -1
    }

    private func load(of daemon: Daemon) throws -> Load {
        let json = try Curl.run(daemon.url + "/v1/models/digits").json
        let inFlight = json["in_flight"] as? [String: Any] ?? [:]
        let predictions = json["predictions"] as? [String: Any] ?? [:]
        guard let now = inFlight["now"] as? Int, let waiting = inFlight["waiting"] as? Int,
            let done = predictions["succeeded"] as? Int, let failed = predictions["failed"] as? Int
        else { return Load() }
        return Load(now: now, waiting: waiting, started: done + failed)
    }

    /// Waits, for a limited time, until the load meets a condition.
    private func until(
        _ what: String, of daemon: Daemon, _ condition: (Load) -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        var last = Load()
        let held = try eventually(every: 0.01) {
            last = try load(of: daemon)
            return condition(last)
        }
        try #require(held, "\(what): it never came to that; last \(last)", sourceLocation: sourceLocation)
    }

    private var seven: Data {
        get throws { try Data(contentsOf: BadInputTests.seven) }
    }

    /// Sixty million pixels: about a tenth of a second of decoding. All pictures together take ten seconds, in which
    /// the hundred clients come and go.
    private static let huge = CancellationPicture.png(width: 60_000, height: 1_000)
    private static let holders = 100

    /// A daemon with one slot, and clients with pictures that keep it taken for longer than a test needs. Requests are
    /// served first come, first served: the newest is never first, however late the oldest is.
    private func busyDaemon() throws -> (Daemon, [RawClient]) {
        let daemon = try Daemon([
            "--max-in-flight", "1", "--queue-length", "300", "--max-total-body", "256MiB", "--queue-wait", "600s",
            "--deadline", "600s", "--max-deadline", "600s", "--overload-target", "0",
        ])
        let holders = try (0..<Self.holders).map { _ in try RawClient(daemon.url) }
        for holder in holders { try holder.post(Self.huge) }
        try until("the huge pictures are there", of: daemon) {
            $0.now == 1 && $0.waiting + $0.started == Self.holders - 1
        }
        return (daemon, holders)
    }

    @Test("a hundred clients that disconnect while they wait in the queue cause no inference")
    func aHundredUploadsAbortedWhileQueuedCauseNoInference() throws {
        let (daemon, holders) = try busyDaemon()
        let files = daemon.openFiles
        let clients = try (0..<100).map { _ in try RawClient(daemon.url) }
        // As long as the holders' pictures: a shorter one would have its turn before them.
        for client in clients { try client.post(Self.huge) }
        try until("all wait", of: daemon) { $0.waiting >= 100 }
        for (index, client) in clients.enumerated() { index.isMultiple(of: 2) ? client.close() : client.reset() }
        // Each prediction that began is of a huge picture: a prediction of one of the hundred would make the sum wrong.
        try until("none of them waits any more", of: daemon) {
            $0.now == 1 && $0.waiting + $0.started == Self.holders - 1
        }
        #expect(daemon.openFiles <= files + 1)

        // When a client disconnects while its picture is decoded, its slot is free at once; clients behind it leave the
        // queue.
        let before = try load(of: daemon)
        for holder in holders.reversed() { holder.close() }
        let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify")
        #expect(answer.topLabel == "7", "\(answer.text)")
        try until("all is at rest", of: daemon) { $0.now == 0 && $0.waiting == 0 }
        let after = try load(of: daemon)
        #expect(after.started <= before.started + 3, "the one being decoded, perhaps the next, and the seven")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("a client that shuts down its sending side still gets its answer")
    func aClientThatHalfClosesStillGetsItsAnswer() throws {
        let (daemon, holders) = try busyDaemon()
        let waiting = try RawClient(daemon.url)
        try waiting.post(seven)
        waiting.finish()
        try until("it waits behind them", of: daemon) { $0.waiting + $0.started == Self.holders }
        for holder in holders { holder.reset() }
        let text = waiting.receive(seconds: 60) { _ in false }
        // The interim response probes whether the client is still connected.
        #expect(text.hasPrefix("HTTP/1.1 102 "), "\(text)")
        #expect(text.contains("HTTP/1.1 200 "), "\(text)")
        #expect(text.contains("\"label\":\"7\""), "\(text)")
        try until("all is at rest", of: daemon) { $0.now == 0 && $0.waiting == 0 }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("clients that reset their connection at any byte of a request head do not disturb the daemon")
    func clientsThatLeaveInTheMiddleOfAHeadAreNothing() throws {
        let daemon = try Daemon()
        let head = "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"
        for count in 0...head.utf8.count {
            let client = try RawClient(daemon.url)
            try client.send(Data(head.utf8.prefix(count)))
            client.reset()
        }
        let client = try RawClient(daemon.url)
        try client.send(Data(head.utf8))
        client.finish()
        #expect(client.receive(seconds: 60) { _ in false }.hasPrefix("HTTP/1.1 "))
        #expect(try Curl.run(daemon.url + "/healthz").status == 200)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// The number of disconnecting clients in the next test: OCELLI_TEST_ABORTS, 1,000 by default.
    static let aborts =
        ProcessInfo.processInfo.environment["OCELLI_TEST_ABORTS"].flatMap { Int($0) }.map { max(100, $0) } ?? 1_000

    @Test(
        "clients that leave at random moments under load leave no files, threads or memory behind",
        arguments: TestEngines.names)
    func randomAbortsUnderLoadLeaveNothingBehind(engine: String) async throws {
        // Without the variant for single-stream requests, which maps its own file while the daemon is idle.
        let daemon = try Daemon([
            "--queue-length", "32", "--lone-threads", "0", "--engine", engine, "--models",
            TestEngines.models(for: engine).path,
        ])
        let seed = UInt64.random(in: .min ... .max)
        let picture = try seven
        // Once before the measurement: memory that is allocated on first use is not a leak.
        try await storm(of: daemon, picture: picture, aborts: 200, seed: seed &+ 1)
        try until("all is at rest", of: daemon) { $0.now == 0 && $0.waiting == 0 }
        let files = daemon.openFiles, threads = daemon.threads, resident = daemon.residentKiB
        let outcomes = try await storm(of: daemon, picture: picture, aborts: Self.aborts, seed: seed)
        try until("all is at rest", of: daemon) { $0.now == 0 && $0.waiting == 0 }
        #expect(daemon.openFiles <= files, "seed \(seed)")
        #expect(daemon.threads <= threads + 4, "seed \(seed)")
        #expect(daemon.residentKiB <= resident + 32 << 10, "seed \(seed): \(resident) KiB before")
        #expect(outcomes.wrong == 0, "seed \(seed)")
        #expect(outcomes.answered > 0, "those who stayed were served meanwhile")
        let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify")
        #expect(answer.topLabel == "7", "\(answer.text)")
        let load = try load(of: daemon)
        print(
            "\(engine): aborts: \(Self.aborts), answered meanwhile: \(outcomes.answered), predictions: \(load.started), "
                + "resident \(resident) KiB before, \(daemon.residentKiB) KiB after")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// Runs eight clients in parallel, one after another each: most disconnect at a random moment of their request; one
    /// in eight waits for the answer, which must be right.
    @discardableResult
    private func storm(
        of daemon: Daemon, picture: Data, aborts: Int, seed: UInt64
    ) async throws -> (answered: Int, wrong: Int) {
        let request = RawClient.request(picture)
        let url = daemon.url
        return try await withThrowingTaskGroup(of: (Int, Int).self) { group in
            for lane in 0..<8 {
                group.addTask {
                    var random = SplitMix(seed: seed &+ UInt64(lane) &* 0x1234_5678_9ABC)
                    var answered = 0, wrong = 0
                    for _ in 0..<aborts / 8 {
                        let client = try RawClient(url)
                        let part =
                            Int.random(in: 0..<8, using: &random) == 0
                            ? Int.random(in: 0..<request.count, using: &random) : request.count
                        try client.send(request.prefix(part))
                        let wait =
                            Int.random(in: 0..<4, using: &random) == 0
                            ? 0 : UInt32.random(in: 0..<3_000, using: &random)
                        if wait > 0 { usleep(wait) }
                        if Int.random(in: 0..<8, using: &random) == 0, part == request.count {
                            client.finish()
                            let text = client.receive(seconds: 60) { _ in false }
                            answered += 1
                            let served = text.contains(" 200 OK\r\n") && text.contains("\"label\":\"7\"")
                            // A full queue refuses with 503.
                            if !served && !text.contains(" 503 ") { wrong += 1 }
                        }
                        Bool.random(using: &random) ? client.close() : client.reset()
                    }
                    return (answered, wrong)
                }
            }
            return try await group.reduce(into: (0, 0)) { sum, one in
                sum.0 += one.0
                sum.1 += one.1
            }
        }
    }
}
