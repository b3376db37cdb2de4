import Foundation
import TestSupport
import Testing

/// Model files that crash the engine, keep it busy for ever or use up all memory: the daemon survives them, reports the
/// reason, and serves the others.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct LoadCheckTests {
    /// A folder of models, with a good one, and its own cache.
    private final class Folder {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-trial-\(UUID().uuidString)")
        var cache: String { url.path + "/.cache" }

        init() throws {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                at: SharedData.packageRoot.appendingPathComponent("models/digits"),
                to: url.appendingPathComponent("digits"))
        }

        deinit { try? FileManager.default.removeItem(at: url) }

        func add(_ name: String, _ bytes: Data) throws { try bytes.write(to: url.appendingPathComponent(name)) }
    }

    /// A pooling without a connected input: OpenVINO 2026.4.1 follows a null pointer.
    private static let crashing = """
        <?xml version="1.0"?><net name="m" version="11"><layers>
        <layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,1,8,8" element_type="f32"/>
        <output><port id="0" precision="FP32"><dim>1</dim><dim>1</dim><dim>8</dim><dim>8</dim></port></output></layer>
        <layer id="1" name="p" type="MaxPool" version="opset1">
        <data strides="2,2" pads_begin="0,0" pads_end="0,0" kernel="2,2" rounding_type="floor" auto_pad="explicit"/>
        <input><port id="0"><dim>1</dim><dim>1</dim><dim>8</dim><dim>8</dim></port></input>
        <output><port id="1" precision="FP32"><dim>1</dim><dim>1</dim><dim>4</dim><dim>4</dim></port></output></layer>
        <layer id="2" name="z" type="Result" version="opset1">
        <input><port id="0"><dim>1</dim><dim>1</dim><dim>4</dim><dim>4</dim></port></input></layer>
        </layers><edges><edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>
        """

    /// A ReLU of 40 GB.
    private static let huge = """
        <?xml version="1.0"?><net name="m" version="11"><layers>
        <layer id="0" name="x" type="Parameter" version="opset1"><data shape="100000,100000" element_type="f32"/>
        <output><port id="0" precision="FP32"><dim>100000</dim><dim>100000</dim></port></output></layer>
        <layer id="1" name="r" type="ReLU" version="opset1">
        <input><port id="0"><dim>100000</dim><dim>100000</dim></port></input>
        <output><port id="1" precision="FP32"><dim>100000</dim><dim>100000</dim></port></output></layer>
        <layer id="2" name="z" type="Result" version="opset1">
        <input><port id="0"><dim>100000</dim><dim>100000</dim></port></input></layer>
        </layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
        <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>
        """

    /// A ReLU of operator set 2^62: OpenVINO 2026.4.1 counts down from there. Protobuf.
    static let endless = Data([
        0x08, 0x08, 0x3A, 0x3E, 0x0A, 0x0F, 0x0A, 0x01, 0x78, 0x12, 0x01, 0x79, 0x1A, 0x01, 0x6E, 0x22, 0x04, 0x52,
        0x65, 0x6C, 0x75, 0x12, 0x01, 0x67, 0x5A, 0x13, 0x0A, 0x01, 0x78, 0x12, 0x0E, 0x0A, 0x0C, 0x08, 0x01, 0x12,
        0x08, 0x0A, 0x02, 0x08, 0x01, 0x0A, 0x02, 0x08, 0x04, 0x62, 0x13, 0x0A, 0x01, 0x79, 0x12, 0x0E, 0x0A, 0x0C,
        0x08, 0x01, 0x12, 0x08, 0x0A, 0x02, 0x08, 0x01, 0x0A, 0x02, 0x08, 0x04, 0x42, 0x0C, 0x0A, 0x00, 0x10, 0x80,
        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40,
    ])

    @Test("models that crash, hang or exhaust the engine fail with the reason, and a good model is served")
    func theDaemonSurvivesWhatTheEngineDoesNot() throws {
        let folder = try Folder()
        // With time for the others on a busy machine; their result is cached for the test of the model that hangs.
        try folder.add("crashing.xml", Data(Self.crashing.utf8))
        try folder.add("crashing.bin", Data())
        try folder.add("huge.xml", Data(Self.huge.utf8))
        try folder.add("huge.bin", Data())
        try check(
            folder, timeout: "300s",
            [
                ("crashing", "the engine crashed (SIGSEGV) during its load check in a separate process"),
                ("huge", "it needed more than 2GiB of memory during its load check in a separate process"),
            ])
        for name in ["crashing.xml", "crashing.bin", "huge.xml", "huge.bin"] {
            try FileManager.default.removeItem(at: folder.url.appendingPathComponent(name))
        }
        try folder.add("endless.onnx", Self.endless)
        try check(folder, timeout: "3s", [("endless", "the engine was still loading it after 3 s")])
    }

    /// Starts a daemon on a folder of bad models, which must fail with these words, and uses its good one.
    private func check(_ folder: Folder, timeout: String, _ failures: [(name: String, words: String)]) throws {
        let daemon = try Daemon([
            "--models", folder.url.path, "--cache-dir", folder.cache, "--load-trial-timeout", timeout,
            "--load-trial-memory", "2GiB",
        ])
        for (name, words) in failures {
            let json = try Curl.run(daemon.url + "/v1/models/\(name)").json
            #expect(json["state"] as? String == "failed", "\(name): \(json)")
            let reason = json["reason"] as? String ?? ""
            #expect(reason.contains(words), "\(name): \(reason)")
            let answer = try Curl.run(daemon.url + "/v1/models/\(name)/predict", ["-d", "{}"])
            #expect(answer.status == 503 && answer.code == "model_not_ready", "\(name): \(answer.text)")
        }
        #expect(!daemon.log.contains("Backtrace"), "\(daemon.log)")
        let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/digits/classify")
        #expect(answer.topLabel == "7", "\(answer.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("a model has a load check at the first start, none at the second, and none with --load-trial=false")
    func aModelIsTriedOnceAndNotAgainAfterARestart() throws {
        let folder = try Folder()
        func start(_ arguments: [String] = []) throws -> (isCached: Bool?, log: String) {
            let daemon = try Daemon(
                ["--models", folder.url.path, "--cache-dir", folder.cache, "--load-trial-timeout", "60s"] + arguments)
            let json = try Curl.run(daemon.url + "/v1/models/digits").json
            #expect(daemon.stop() == 0, "\(daemon.log)")
            return (json["cached"] as? Bool, daemon.log)
        }
        let words = "of it a load check in a separate process"
        let first = try start()
        #expect(first.log.contains(words), "\(first.log)")
        // It was compiled for this start, though by the load check.
        #expect(first.isCached == false)
        let second = try start()
        #expect(!second.log.contains(words), "\(second.log)")
        #expect(second.isCached == true)

        let file = folder.url.appendingPathComponent("digits/README.md")
        try (String(contentsOf: file, encoding: .utf8) + "\n").write(to: file, atomically: true, encoding: .utf8)
        let untried = try start(["--load-trial=false"])
        #expect(!untried.log.contains(words), "\(untried.log)")
    }

    /// A daemon that is killed cannot end a load check that has just begun.
    @Test("a load check ends at once if its parent process has ended, and otherwise at its time limit")
    func anAbandonedTrialEnds() throws {
        let folder = try Folder()
        try folder.add("endless.onnx", Self.endless)
        let path = folder.url.path + "/endless.onnx"
        func run(parent: Int32, seconds: Int) throws -> Shell.Result {
            try Shell.run(
                Daemon.binary.path, ["try-model", path, "\(parent)", "\(seconds)", "0", "--cache-dir", folder.cache])
        }
        let orphan = try run(parent: .max, seconds: 60)
        #expect(orphan.status == 1 && orphan.output.isEmpty, "\(orphan)")
        let late = try run(parent: getpid(), seconds: 1)
        #expect(late.status == SIGALRM && late.output.isEmpty, "\(late)")
    }

    /// The other models are served meanwhile, and the time of the load is reported. The load check ends with the daemon
    /// even if that is killed.
    @Test(
        "a model that hangs in loading delays no other; its load check ends when the daemon is killed",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)))
    func aModelThatHangsHoldsUpNothingAndItsTrialEndsWithTheDaemon() throws {
        let folder = try Folder()
        // Smaller than the other, so that it is loaded first.
        try folder.add("endless.onnx", Self.endless)
        let daemon = try Daemon(
            ["--models", folder.url.path, "--cache-dir", folder.cache, "--load-trial-timeout", "300s"],
            waitUntilReady: false)
        func model(_ name: String) throws -> [String: Any] {
            try Curl.run(daemon.url + "/v1/models/\(name)").json
        }
        #expect(try eventually(within: 60) { try model("endless")["loading_ms"] != nil })
        #expect(try model("digits")["state"] as? String == "loading", "it waits for its turn")
        #expect(try eventually(within: 60) { try model("digits")["state"] as? String == "ready" })
        let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/digits/classify")
        #expect(answer.topLabel == "7", "\(answer.text)")
        let endless = try model("endless")
        #expect(endless["state"] as? String == "loading" && endless["loading_ms"] as? Double ?? 0 > 1_000, "\(endless)")
        #expect(try model("digits")["loading_ms"] == nil)
        let readiness = try Curl.run(daemon.url + "/readyz")
        #expect(readiness.status == 503)
        #expect(readiness.text.contains("not ready: endless is loading (for "), "\(readiness.text)")
        let trial = try #require(daemon.children.first)
        // Wait until the thread that began the load check has ended: a pool ends threads that are idle for some
        // seconds.
        Thread.sleep(forTimeInterval: 8)
        daemon.signal(SIGKILL)
        daemon.waitForExit()
        #expect(eventually { Self.hasEnded(trial) }, "the load check \(trial) goes on")
        kill(trial, SIGKILL)
    }

    /// After a new installation over a running daemon, the process of a load check finds no libraries, or others.
    @Test("a new model fails with advice to restart if the daemon's libraries were removed")
    func aDaemonWhoseFilesWereReplacedSaysThatItNeedsARestart() throws {
        let folder = try Folder()
        let program = folder.url.path + "/.program"
        let installed = try Shell.run(
            SharedData.packageRoot.path + "/scripts/install", [program],
            environment: ["OCELLI_BINARY": Daemon.binary.path])
        try #require(installed.status == 0, "\(installed.errors)")
        let daemon = try Daemon(
            ["--models", folder.url.path, "--cache-dir", folder.cache],
            // Without the libraries of the tests.
            environment: ["LD_LIBRARY_PATH": ""],
            launcher: ["sh", "-c", "shift; exec \(program)/bin/ocelli \"$@\"", "sh"])
        try FileManager.default.removeItem(atPath: program + "/lib/ocelli")
        try folder.add("new.onnx", Data("new".utf8))
        daemon.signal(SIGHUP)
        #expect(daemon.waitForLog("reload: done"))
        let reason = try Curl.run(daemon.url + "/v1/models/new").json["reason"] as? String ?? ""
        #expect(reason.contains("was replaced or removed since Ocelli started: restart it"), "\(reason)")
        #expect(reason.contains("cannot be served: lib"), "\(reason)")
        #expect(daemon.log.contains(" warning: lib"), "\(daemon.log)")
        let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/digits/classify")
        #expect(answer.topLabel == "7", "\(answer.text)")
        #expect(daemon.stop() == 0)
    }

    /// True if a process has ended, even if its parent has not waited for it.
    private static func hasEnded(_ pid: Int32) -> Bool {
        guard let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8) else { return true }
        return status.contains("State:\tZ")
    }
}
