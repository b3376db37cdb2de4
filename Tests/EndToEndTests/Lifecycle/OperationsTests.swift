import Foundation
import TestSupport
import Testing

/// Short runs of the trials of Tests/Operations: daemons that are killed, drained and confined while real clients send
/// requests.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: Shell.has("python3"), "python3 is not installed"), .serialized)
struct OperationsTests {
    private static let scripts = SharedData.packageRoot.appendingPathComponent("Tests/Operations")

    /// Runs a trial, which reports its own findings.
    private func run(
        _ script: String, _ arguments: [String] = [], python: String = "python3", seconds: Int = 120
    ) throws {
        let result = try Shell.run(
            "timeout", ["\(seconds)", python, Self.scripts.appendingPathComponent(script).path] + arguments,
            environment: ["TEST_BINARY": Daemon.binary.path])
        #expect(result.status == 0, "\(result.text)\(result.errors)")
    }

    /// Only requests in progress are lost; waiting ones are served.
    @Test(
        "kill -9 under socket activation loses only requests in progress; waiting clients are served",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)))
    func aKilledDaemonLosesOnlyWhatItHad() throws {
        try run("activation.py", ["--kills", "3"])
    }

    /// Neither the daemon nor the two programs that only use processor time are left.
    @Test(
        "chaos.py ends its three child processes when it gets SIGTERM",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)))
    func aTrialThatIsEndedLeavesNothingBehind() throws {
        let trial = Process()
        trial.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        trial.arguments = ["python3", Self.scripts.appendingPathComponent("chaos.py").path, "600", "--no-bench"]
        trial.environment = ProcessInfo.processInfo.environment.merging(["TEST_BINARY": Daemon.binary.path]) { $1 }
        trial.standardOutput = FileHandle.nullDevice
        try trial.run()
        let pid = trial.processIdentifier
        var children: [pid_t] = []
        // A limited but long time: the machine may be busy with the other tests.
        for _ in 0..<1200 where children.count < 3 {
            usleep(50_000)
            let text = try String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
            children = text.split(separator: " ").compactMap { pid_t($0) }
        }
        trial.terminate()
        for _ in 0..<1200 where trial.isRunning { usleep(50_000) }
        if trial.isRunning { kill(pid, SIGKILL) }
        trial.waitUntilExit()
        #expect(children.count == 3 && trial.terminationStatus == 128 + SIGTERM, "\(trial.terminationStatus)")
        // Another process has to reap them.
        var left = children
        for _ in 0..<1200 where !left.isEmpty {
            left = children.filter { kill($0, 0) == 0 }
            if !left.isEmpty { usleep(50_000) }
        }
        #expect(left == [])
        for child in left { kill(child, SIGKILL) }
    }

    /// config/nginx.conf and config/haproxy.cfg before two daemons: a drain loses nothing, a kill next to nothing.
    @Test(
        "behind nginx and HAProxy a drain of a daemon loses no request, and a kill loses few",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)),
        .enabled(if: Self.hasProxy, "neither nginx nor haproxy is installed"))
    func proxiesHideDaemonsThatComeAndGo() throws {
        try run("proxies.py")
    }

    private static var hasProxy: Bool {
        ["nginx", "haproxy"].contains { name in
            Shell.has(name) || FileManager.default.isExecutableFile(atPath: "/usr/sbin/\(name)")
        }
    }

    @Test(
        "the files under deploy/ are valid by their schemas and by the daemon's settings",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)),
        .enabled(if: Self.hasSchemas, "the packages of deploy/checks are not installed: make setup-tests"))
    func shippedManifestsAreValid() throws {
        let result = try Shell.run(
            SharedData.packageRoot.appendingPathComponent("deploy/checks/check-deploy").path, [],
            environment: ["TEST_BINARY": Daemon.binary.path])
        #expect(result.status == 0, "\(result.text)\(result.errors)")
    }

    /// The Deployment of deploy/kubernetes, rolled and scaled under load like in Kubernetes.
    @Test(
        "the Kubernetes Deployment is rolled and scaled under load without losing a request",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)),
        .enabled(if: Self.hasSchemas && Self.canBind, "needs make setup-tests, bubblewrap and user namespaces"))
    func rolloutsLoseNothing() throws {
        try run("rollouts.py", ["Service", "--rollouts", "1"])
    }

    /// KServe's runtime, ConfigMaps and KServe's agent: models that arrive late, change and disappear while clients
    /// send requests.
    @Test(
        "models of KServe and ConfigMaps come late, change and go while clients ask",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)),
        .enabled(if: Self.hasSchemas && Self.canBind, "needs make setup-tests, bubblewrap and user namespaces"))
    func modelsComeLateChangeAndGo() throws {
        try run("kserve.py", ["--swaps", "3"])
    }

    /// nginx, HAProxy and Envoy.
    @Test(
        "proxies hide metrics and the model repository, in twenty spellings of their paths",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)),
        .enabled(if: Self.hasSchemas && Self.hasProxy, "needs make setup-tests, and nginx or haproxy"))
    func proxiesHideWhatIsForOperators() throws {
        try run("spellings.py")
    }

    /// The index of a bulk job after its pod died: the job's arguments come from the manifest.
    @Test(
        "a bulk job whose pod is killed answers each line once",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)),
        .enabled(if: Self.hasSchemas, "the packages of deploy/checks are not installed: make setup-tests"))
    func killedBulkJobAnswersEachLineOnce() throws {
        try run("bulk.py", ["--lines", "2000", "--kills", "3"])
    }

    /// With 20 kills: the arguments are in Tests/Operations/README.md.
    @Test(
        "on three simulated machines with a worker, a daemon and a driver killed, each picture has one answer",
        .enabled(if: LongTests.haveClusters, Comment(rawValue: LongTests.clusterAbsence)),
        .enabled(if: PythonClients.isBulkAvailable, Comment(rawValue: PythonClients.bulkAbsence)),
        .enabled(if: geteuid() == 0 && Shell.has("unshare") && Shell.has("ip"), "needs root, unshare and ip"),
        arguments: ["ray", "spark"])
    func killedClusterAnswersEachPictureOnce(_ engine: String) throws {
        try run(
            "bulk_cluster.py", ["--engine", engine, "--kills", "3"], python: PythonClients.bulkPython, seconds: 1_500)
    }

    private static var hasSchemas: Bool {
        FileManager.default.isExecutableFile(
            atPath: SharedData.packageRoot.appendingPathComponent(".build/deployment/bin/python").path)
    }

    @Test(
        "the daemon starts, classifies, reloads and ends in the sandbox of its systemd unit",
        .enabled(
            if: Self.canConfine, "needs bubblewrap, systemd-analyze and Debian's python3-seccomp, and user namespaces"))
    func theUnitsSandboxLeavesWhatIsNeeded() throws {
        try run("sandbox.py", python: "/usr/bin/python3")
    }

    private static var canConfine: Bool {
        Shell.has("systemd-analyze") && (try? Shell.run("/usr/bin/python3", ["-c", "import seccomp"]).status) == 0
            && canBind
    }

    private static var canBind: Bool {
        Shell.has("bwrap")
            && (try? Shell.run("bwrap", ["--ro-bind", "/", "/", "--unshare-user", "true"]).status) == 0
    }

    /// MemoryMax= and CPUQuota= as in a control group of version 2. Its files are invented: a container has no real
    /// group with both controllers.
    @Test(
        "`ocelli limits` follows cpu.max and memory.max of a control group of version 2",
        .enabled(if: Self.canBind, "needs bubblewrap and user namespaces"))
    func theLimitsOfAControlGroupAreHonoured() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-group-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let arguments = try Self.madeUpGroup(in: folder)
        let result = try Shell.run("bwrap", arguments + [Daemon.binary.path, "limits"])
        #expect(result.status == 0, "\(result.errors)")
        func row(_ name: String) -> String {
            String(result.text.split(separator: "\n").first { $0.hasPrefix(name + " ") } ?? "")
        }
        let processors = ProcessInfo.processInfo.activeProcessorCount
        if processors >= 2 {
            #expect(row("processors").contains("1.50") && row("processors").contains("cpu.max"), "\(result.text)")
        }
        #expect(row("threads").contains(" 1 "), "\(result.text)")
        #expect(row("memory").contains("512MiB") && row("memory").contains("memory.max"), "\(result.text)")
        #expect(row("max_total_body").contains("64MiB"), "\(result.text)")
    }

    /// ONNX Runtime's inferences may take half of 512 MiB together; a row of this model takes a megabyte.
    @Test(
        "rows that need more memory than ONNX Runtime may take get 400, and fewer rows are answered after them",
        .enabled(if: Self.canBind, "needs bubblewrap and user namespaces"),
        .enabled(if: TabularTests.hasEngine, TabularTests.engineAbsence))
    func theMemoryOfTheSecondEngineIsBounded() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-group-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let launcher = ["bwrap"] + (try Self.madeUpGroup(in: folder)) + ["--die-with-parent"]
        let models = folder.appendingPathComponent("models")
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        let wide = ONNXFile(
            [.init("Mul", ["x", "w"], ["wide"]), .init("GlobalAveragePool", ["wide"], ["y"])],
            inputs: [("x", [-1, 1, 1])], outputs: [("y", [-1, 1, 1])],
            constants: [("w", [Float](repeating: 1, count: 250_000))])
        try wide.bytes.write(to: models.appendingPathComponent("wide.onnx"))
        let daemon = try Daemon(
            ["--models", models.path, "--cache-dir", "", "--engine", "onnxruntime"], launcher: launcher)
        defer { daemon.stop() }
        func rows(_ count: Int) throws -> Answer {
            let values = (0..<count).map { "[[\($0)]]" }.joined(separator: ",")
            return try Curl.run(
                daemon.url + "/v1/models/wide/predict", ["--data-binary", "@-"],
                input: Data("{\"inputs\": {\"x\": [\(values)]}}".utf8))
        }
        for count in [1, 50, 600, 2, 600, 600, 50] {
            let answer = try rows(count)
            guard count < 600 else {
                #expect(answer.status == 400 && answer.code == "invalid_input", "\(answer.text)")
                #expect(answer.error.contains("more memory than is allowed"), "\(answer.text)")
                continue
            }
            let means = (answer.json["outputs"] as? [String: Any])?["y"] as? [[[Double]]] ?? []
            #expect(
                answer.status == 200 && means.compactMap { $0.first?.first } == (0..<count).map(Double.init),
                "\(answer.text)")
        }
    }

    /// Makes the files of a control group with 1.5 processors and 512 MiB.
    /// - Returns: the arguments of bubblewrap that make a program find it.
    private static func madeUpGroup(in folder: URL) throws -> [String] {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, text) in [("cpu.max", "150000 100000\n"), ("memory.max", "536870912\n")] {
            try text.write(to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
        }
        // A root without the host's /sys and without other mounts of control groups (as in a container's root):
        // otherwise the host's own mounts would be found. The program is available at its own path.
        let hidden = Set(["proc", "dev", "sys"]).union(try foldersWithControlGroups())
        var arguments = ["--proc", "/proc", "--dev", "/dev"]
        let top = try FileManager.default.contentsOfDirectory(atPath: "/")
        for entry in top where !hidden.contains(entry) {
            let path = "/" + entry
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path)
            arguments += target.map { ["--symlink", $0, path] } ?? ["--ro-bind", path, path]
        }
        let project = SharedData.packageRoot.path
        arguments += ["--ro-bind", project, project, "--ro-bind", folder.path, "/sys/fs/cgroup"]
        return arguments + ["--unshare-user"]
    }

    /// A folder in which tests can create control groups with a thread limit; nil if there is no such folder.
    private static let threadGroups: String? = {
        for (folder, file) in [("/sys/fs/cgroup/pids", "cgroup.procs"), ("/sys/fs/cgroup", "cgroup.subtree_control")] {
            guard getuid() == 0, let text = try? String(contentsOfFile: folder + "/" + file, encoding: .utf8) else {
                continue
            }
            guard file == "cgroup.procs" || text.contains("pids") else { continue }
            // Containers often may only read control groups.
            let group = folder + "/ocelli-test-\(UUID().uuidString)"
            guard mkdir(group, 0o755) == 0 else { continue }
            rmdir(group)
            return folder
        }
        return nil
    }()

    /// A daemon with `count` copies of the digits model in a control group with a thread limit, like that of TasksMax=.
    private func inThreadGroup(
        limit: Int, models count: Int, _ settings: [String], _ body: (Daemon, String) throws -> Void
    ) throws {
        let name = "ocelli-test-\(UUID().uuidString)", group = try #require(Self.threadGroups) + "/" + name
        let models = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: models) }
        for number in 10..<10 + count {
            try FileManager.default.copyItem(
                at: SharedData.packageRoot.appendingPathComponent("models/digits"),
                to: models.appendingPathComponent("m\(number)"))
        }
        try #require(mkdir(group, 0o755) == 0, "\(group)")
        defer { rmdir(group) }
        try "\(limit)".write(toFile: group + "/pids.max", atomically: false, encoding: .utf8)
        let daemon = try Daemon(
            ["--models", models.path, "--streams", "2"] + settings,
            launcher: ["sh", "-c", "echo $$ >'\(group)/cgroup.procs' && exec \"$0\" \"$@\""])
        try body(daemon, name)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// The models that fit are served; the errors of the others name the limit.
    @Test(
        "models beyond a control group's thread limit fail with the limit as reason; others are served",
        .enabled(if: threadGroups != nil, "needs root, and a control group that counts threads"))
    func moreModelsThanThreadsAreExplained() throws {
        try inThreadGroup(limit: 40, models: 14, ["--load-trial=false"]) { daemon, name in
            let limit = "pids.max of /\(name) is 40"
            #expect(daemon.log.contains("14 models are loaded at start and take about 42 threads"), "\(daemon.log)")
            #expect(daemon.log.contains("no more threads can be started (\(limit))"), "\(daemon.log)")
            #expect(daemon.log.contains("raise the limit (TasksMax in the unit)"), "\(daemon.log)")
            let ready = try Curl.run(daemon.url + "/readyz")
            #expect(ready.status == 503 && ready.code == "model_not_ready")
            #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/m10/classify").topLabel == "7")
        }
    }

    /// Lazy models all answer, one after the other: each takes the threads of idle ones.
    @Test(
        "lazy models beyond a thread limit are served in turn, with the threads of idle models",
        .enabled(if: threadGroups != nil, "needs root, and a control group that counts threads"),
        arguments: LongTests.every(2, of: [["--load-trial=false"], []]))
    func lazyModelsTakeTheThreadsOfIdleOnes(settings: [String]) throws {
        try inThreadGroup(limit: 40, models: 14, ["--load=lazy"] + settings) { daemon, _ in
            for number in 10..<24 {
                let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/m\(number)/classify")
                #expect(answer.topLabel == "7", "m\(number): \(answer.text)")
            }
            #expect(daemon.log.contains("it was idle, and there were no more threads for model m"), "\(daemon.log)")
            #expect(try Curl.run(daemon.url + "/readyz").status == 200)
        }
    }

    /// The folders of the root below which a control group file system is mounted (proc_pid_mountinfo(5): the type is
    /// the first word after the dash).
    private static func foldersWithControlGroups() throws -> Set<String> {
        var folders: Set<String> = []
        for line in try String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8).split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 4, let dash = fields.lastIndex(of: "-"), dash + 1 < fields.count,
                fields[dash + 1].hasPrefix("cgroup"), let top = fields[4].split(separator: "/").first
            else { continue }
            folders.insert(String(top))
        }
        return folders
    }

    /// With a real group, if the test can create one (version 1 of the CPU controller, as root).
    @Test(
        "`ocelli limits` follows the CPU quota of a real control group of version 1",
        .enabled(if: Self.hasCPUController, "needs root and a writable CPU controller of version 1"))
    func aRealQuotaIsHonoured() throws {
        let group = "/sys/fs/cgroup/cpu/ocelli-test-\(UUID().uuidString)"
        let script = """
            mkdir '\(group)' && echo 100000 >'\(group)/cpu.cfs_period_us' && echo 50000 >'\(group)/cpu.cfs_quota_us' || exit 9
            sh -c 'echo $$ >"\(group)/cgroup.procs" && exec "\(Daemon.binary.path)" limits'
            status=$?
            rmdir '\(group)'
            exit $status
            """
        let result = try Shell.run("sh", ["-c", script])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text.contains("0.50  cpu.cfs_quota_us of /ocelli-test"), "\(result.text)")
    }

    private static var hasCPUController: Bool {
        getuid() == 0 && FileManager.default.isWritableFile(atPath: "/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
    }
}
