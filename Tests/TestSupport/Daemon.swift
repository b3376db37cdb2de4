public import Foundation
import Synchronization

/// The running binary: a test starts it on a free loopback port, and it ends by its pid after the test.
public final class Daemon: Sendable {
    /// The binary: `.build/release/ocelli`, or the path in TEST_BINARY.
    public static let binary: URL = {
        if let path = ProcessInfo.processInfo.environment["TEST_BINARY"] { return URL(fileURLWithPath: path) }
        return SharedData.packageRoot.appendingPathComponent(".build/release/ocelli")
    }()

    /// True if there is a binary to test.
    public static var isBuilt: Bool { FileManager.default.isExecutableFile(atPath: binary.path) }

    /// The reason of a skipped test.
    public static let absence = ".build/release/ocelli is not built: run `make build` first (`make test` does)"

    /// `http://127.0.0.1:PORT`
    public let url: String
    /// The process.
    public let pid: Int32
    private let process: Process
    private let output: Output
    private let pipe: Pipe

    /// The daemon's standard error so far.
    public var log: String { output.text.withLock { $0 } }

    private final class Output: Sendable {
        let text = Mutex("")
        let changed = DispatchSemaphore(value: 0)
        let hasEnded = Atomic(false)
    }

    /// A failure to start, with the daemon's output.
    public struct Failure: Error, CustomStringConvertible {
        /// The problem, in words.
        public let description: String
        /// The daemon's standard error.
        public let log: String
        /// The exit status, or the number of the signal that ended the daemon, negative.
        public let status: Int32
    }

    /// Starts `ocelli serve` and waits until it listens and, if requested, is ready.
    /// - Parameters:
    ///   - stackKiB: the maximum stack size of its threads (default: that of the test).
    ///   - launcher: a program, found on PATH, with arguments. It becomes the daemon, which is its first further
    ///     argument.
    public init(
        _ arguments: [String] = [], environment: [String: String] = [:], waitUntilReady: Bool = true,
        listen: String = "127.0.0.1:0", stackKiB: Int? = nil, launcher: [String] = []
    ) throws {
        let process = Process()
        let arguments = ["serve", "--listen", listen] + arguments
        if let stackKiB {
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", "ulimit -s \(stackKiB) && exec \"$0\" \"$@\"", Self.binary.path] + arguments
        } else if !launcher.isEmpty {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = launcher + [Self.binary.path] + arguments
        } else {
            process.executableURL = Self.binary
            process.arguments = arguments
        }
        // The tests' own cache: no test touches the user's cache or depends on its contents.
        var variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("OCELLI_") }
        variables["XDG_CACHE_HOME"] = Self.cache.path
        // TEST_ENGINE selects the engine of any test, and digits in its format where the test names no models.
        let engine = ProcessInfo.processInfo.environment["TEST_ENGINE"]
        variables["OCELLI_ENGINE"] = engine
        if engine == "litert", !arguments.contains("--models"), !arguments.contains("--config") {
            variables["OCELLI_MODELS"] = TestEngines.models(for: engine).path
        }
        // One event loop even on machines with many processors, because tests count its connections.
        if ProcessInfo.processInfo.activeProcessorCount >= 32 { variables["OCELLI_EVENT_LOOPS"] = "1" }
        process.environment = variables.merging(environment) { $1 }
        let pipe = Pipe()
        process.standardError = pipe
        process.standardOutput = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        let output = Output()
        self.pipe = pipe
        Self.read(pipe, into: output)
        try process.run()
        self.process = process
        self.output = output
        pid = process.processIdentifier
        let wanted = waitUntilReady ? ["listening on ", "ready after "] : ["listening on "]
        var text = ""
        // A limited but long time: the machine may be busy with the other tests.
        for _ in 0..<1800 {
            text = output.text.withLock { $0 }
            if wanted.allSatisfy({ text.contains($0) }) || text.contains("not every model is ready") { break }
            if !process.isRunning { break }
            _ = output.changed.wait(timeout: .now() + .milliseconds(100))
        }
        guard let range = text.range(of: "listening on ") else {
            if process.isRunning { process.terminate() }
            process.waitUntilExit()
            // The last output may still be in the pipe.
            _ = eventually { output.hasEnded.load(ordering: .acquiring) }
            let log = output.text.withLock { $0 }
            let status = process.terminationStatus
            throw Failure(
                description: "the daemon did not start: \(log)", log: log,
                status: process.terminationReason == .exit ? status : -status)
        }
        let address = text[range.upperBound...].prefix { !$0.isNewline && $0 != "," && $0 != "\"" }
        url = "http://\(address)"
    }

    private static func read(_ pipe: Pipe, into output: Output) {
        pipe.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            if data.isEmpty {
                handle.readabilityHandler = nil
                output.hasEnded.store(true, ordering: .releasing)
            }
            output.text.withLock { $0 += String(decoding: data, as: UTF8.self) }
            output.changed.signal()
        }
    }

    /// Stops reading the daemon's standard error.
    public func stopReadingLog() { pipe.fileHandleForReading.readabilityHandler = nil }

    /// Reads it again.
    public func startReadingLog() { Self.read(pipe, into: output) }

    /// The compiled models of all tests.
    public static let cache = FileManager.default.temporaryDirectory.appendingPathComponent(
        "ocelli-test-cache-\(getuid())")

    /// Sends a signal.
    public func signal(_ number: Int32) { kill(pid, number) }

    /// Waits, for a limited time, until the log has these words.
    public func waitForLog(_ words: String, seconds: Double = 60) -> Bool {
        eventually(within: seconds) { log.contains(words) }
    }

    /// Waits until the daemon ends by itself; kills it after the time.
    /// - Returns: the exit status.
    @discardableResult
    public func waitForExit(seconds: Double = 30) -> Int32 {
        if !eventually(within: seconds, every: 0.01, { !process.isRunning }) { kill(pid, SIGKILL) }
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : -1
    }

    /// Ends the daemon like a service manager.
    /// - Returns: the exit status.
    @discardableResult
    public func stop() -> Int32 {
        if process.isRunning { kill(pid, SIGTERM) }
        return waitForExit()
    }

    deinit {
        if process.isRunning { kill(pid, SIGKILL) }
    }

    /// Open file descriptors of the process.
    public var openFiles: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count) ?? -1 }
    /// The running processes that it has started.
    public var children: [Int32] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
        return tasks.flatMap { task in
            ((try? String(contentsOfFile: "/proc/\(pid)/task/\(task)/children", encoding: .utf8)) ?? "")
                .split(separator: " ").compactMap { Int32($0) }
        }
    }
    /// Threads of the process.
    public var threads: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task").count) ?? -1 }
    /// Resident memory in KiB.
    public var residentKiB: Int { status("VmRSS:") }
    /// The anonymous resident memory in KiB.
    public var anonymousKiB: Int { status("RssAnon:") }
    /// The maximum of resident memory so far, in KiB.
    public var maximumResidentKiB: Int { status("VmHWM:") }

    private func status(_ name: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
        return Int(line.filter(\.isNumber)) ?? -1
    }
}
