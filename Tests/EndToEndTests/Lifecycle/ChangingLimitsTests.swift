import Foundation
import TestSupport
import Testing

/// Limits that change while the daemon runs, and a drain that is longer than the grace period.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct ChangingLimitsTests {
    /// The affinity replaces a control group, which not every machine lets tests change: the same code reads both.
    @Test(
        "SIGHUP after the process lost processors: threads follow, and the model is loaded again",
        .enabled(if: MetricsTests.hasTool("taskset"), "taskset is not installed"),
        .enabled(if: ProcessInfo.processInfo.activeProcessorCount > 1, "one processor cannot become fewer"))
    func changedProcessorsAreFollowedOnASignal() throws { try followProcessors { $0.signal(SIGHUP) } }

    @Test(
        "without a signal, a change of the usable processors is followed within 100 seconds",
        .enabled(
            if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)))
    func changedProcessorsAreFollowedWithinAMinute() throws { try followProcessors { _ in } }

    private func followProcessors(_ ask: (Daemon) -> Void) throws {
        let daemon = try Daemon(["--access-log=false"])
        func classify() throws -> String {
            try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").topLabel
        }
        #expect(try classify() == "7")
        #expect(!daemon.log.contains("threads changed"))
        #expect(try Shell.run("taskset", ["-pc", "0", "\(daemon.pid)"]).status == 0)
        ask(daemon)
        #expect(daemon.waitForLog("limits: threads changed from ", seconds: 100), "\(daemon.log)")
        #expect(daemon.log.contains(#/limits: threads changed from \d+ to 1: /#), "\(daemon.log)")
        #expect(daemon.log.contains("the scheduler may use 1 CPU"))
        #expect(daemon.log.contains(#/limits: processors changed from \S+ to 1.00: /#), "\(daemon.log)")
        // The model is loaded again, with one thread.
        #expect(
            eventually { daemon.log.components(separatedBy: "model digits version 1 is ready").count == 3 },
            "\(daemon.log)")
        #expect(try classify() == "7")
        #expect(daemon.stop() == 0)
    }

    /// A folder in which tests can create control groups with a memory limit (version 1); nil if there is no such
    /// folder.
    private static let memoryGroups: String? = {
        let folder = "/sys/fs/cgroup/memory"
        return getuid() == 0 && FileManager.default.isWritableFile(atPath: folder + "/memory.limit_in_bytes")
            ? folder : nil
    }()

    /// A pod that is resized in place, with a real group: smaller, and as large as before.
    @Test(
        "SIGHUP after the memory limit changed: the limits of bodies follow, down and up again",
        .enabled(if: memoryGroups != nil, "needs root, and a control group of version 1 that limits memory"))
    func changedMemoryIsFollowed() throws {
        let group = try #require(Self.memoryGroups) + "/ocelli-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: group, withIntermediateDirectories: false)
        defer { rmdir(group) }
        func limit(mebibytes: Int) throws {
            try "\(mebibytes << 20)".write(toFile: group + "/memory.limit_in_bytes", atomically: false, encoding: .utf8)
        }
        try limit(mebibytes: 1024)
        let daemon = try Daemon(
            ["--access-log=false"],
            launcher: ["sh", "-c", "echo $$ >'\(group)/cgroup.procs' && exec \"$0\" \"$@\""])
        let body = Data(count: 15_000_000)
        func post() throws -> Int {
            try Curl.run(daemon.url + "/v1/classify", ["--data-binary", "@-", "-H", "Expect:"], input: body).status
        }
        #expect(try post() == 415, "it is allowed, and not a picture")
        try limit(mebibytes: 160)
        daemon.signal(SIGHUP)
        #expect(daemon.waitForLog("limits: max_body changed from 20MiB to 10MiB"), "\(daemon.log)")
        #expect(daemon.log.contains("limits: max_total_body changed from 128MiB to 20MiB"), "\(daemon.log)")
        #expect(try post() == 413)
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").topLabel == "7")
        try limit(mebibytes: 1024)
        daemon.signal(SIGHUP)
        #expect(daemon.waitForLog("limits: max_body changed from 10MiB to 20MiB"), "\(daemon.log)")
        #expect(try post() == 415)
        #expect(daemon.stop() == 0)
    }

    @Test(
        "a drain that takes longer than OCELLI_GRACE allows is warned of at start",
        arguments: [
            ("30s", ["--drain-delay=5s", "--drain-timeout=30s"], "5s) and drain_timeout (30s) are 35s together"),
            (
                "10", [],
                "drain_delay (0s) and drain_timeout (30s) are 30s together, and OCELLI_GRACE gives the process 10s"
            ),
            ("soon", [], "OCELLI_GRACE: expected a time"), ("30s", [], nil), ("1m", ["--drain-delay=5s"], nil),
        ] as [(String, [String], String?)])
    func drainThatDoesNotFitIsWarnedOf(grace: String, settings: [String], words: String?) throws {
        let daemon = try Daemon(settings, environment: ["OCELLI_GRACE": grace])
        if let words {
            #expect(daemon.log.contains(words), "\(daemon.log)")
        } else {
            #expect(!daemon.log.contains("OCELLI_GRACE"), "\(daemon.log)")
        }
        daemon.signal(SIGHUP)
        #expect(daemon.waitForLog("reload: done"))
        #expect(daemon.stop() == 0)
    }
}
