import CSystem
import Foundation
import TestSupport
import Testing

/// The server in its own process, which is started for one test and ended with it.
final class Probe {
    /// Counts of the resources that the process uses.
    struct Usage: Equatable {
        var descriptors: Int
        var threads: Int
    }

    /// The first TCP port; 0 if the server has none.
    let port: UInt16
    /// The addresses that the server has reported.
    let addresses: [String]
    /// The resources in use after the first requests.
    private(set) var baseline = Usage(descriptors: 0, threads: 0)
    private(set) var baselineResident = 0
    private var baselineNames: [String] = []

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    var pid: Int32 { process.processIdentifier }

    /// Starts the probe with settings of the form `name=value` and waits until it listens. A `launcher` is a command
    /// that is run with the probe's path and the settings as its last arguments.
    init(_ settings: String..., launcher: [String] = []) throws {
        raiseDescriptorLimit()
        let executable = try Self.executable()
        // Return large blocks to the system as soon as they are freed, so that resident memory shows the memory in use:
        // otherwise malloc keeps blocks of the size of one that was freed before.
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["MALLOC_MMAP_THRESHOLD_": "131072"]
        ) { own, _ in own }
        if let first = launcher.first {
            process.executableURL = URL(fileURLWithPath: first)
            process.arguments = launcher.dropFirst() + [executable.path] + settings
        } else {
            process.executableURL = executable
            process.arguments = settings
        }
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var lines: [String] = []
        while let line = Self.line(from: output.fileHandleForReading) {
            if line == "ready" { break }
            lines.append(line)
        }
        addresses = lines
        port =
            lines.lazy.compactMap { $0.hasPrefix("unix") ? nil : $0.split(separator: ":").last.flatMap { UInt16($0) } }
            .first ?? 0
        if port != 0 {
            // The descriptors that the concurrency runtime opens for its first task and timer are no leak.
            for _ in 0..<8 { _ = try get("/task") }
            _ = try get("/sleep?ms=1")
            try waitUntil("the probe is at rest") { try statistic("open") == 1 }
            // The connection that asked for the statistics is being closed; the minimum of several measurements is the
            // baseline.
            baseline = usage
            for _ in 0..<10 {
                usleep(5_000)
                baseline.descriptors = min(baseline.descriptors, usage.descriptors)
                baseline.threads = max(baseline.threads, usage.threads)
            }
            baselineResident = resident
            baselineNames = descriptorNames
        }
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Asks the process to shut down (or, with its input left open, waits for it to end by itself). Returns its last
    /// output, and its exit status (66: a sanitizer reported an error).
    func stop(closingInput: Bool = true) throws -> (said: String, status: Int32) {
        if closingInput { try input.fileHandleForWriting.close() }
        if !eventually(within: 60, every: 0.002, { !process.isRunning }) {
            Issue.record("the probe did not end within a minute: it is killed")
            kill(pid, SIGKILL)
        }
        process.waitUntilExit()
        // Do not read to the end of the file: children of other tests may hold the pipe open.
        let descriptor = output.fileHandleForReading.fileDescriptor
        csys_set_nonblocking_cloexec(descriptor)
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = max(0, read(descriptor, &bytes, bytes.count))
        let said = String(decoding: bytes[..<count], as: UTF8.self)
        return (said.trimmingCharacters(in: .whitespacesAndNewlines), process.terminationStatus)
    }

    /// Stops the process. Returns when each of its threads is stopped: the signal goes to one thread, which stops the
    /// others.
    func standStill() throws {
        kill(pid, SIGSTOP)
        try waitUntil("every thread stands still") {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task").allSatisfy { thread in
                let text = try String(contentsOfFile: "/proc/\(pid)/task/\(thread)/stat", encoding: .utf8)
                return text.split(separator: ")").last?.trimmingCharacters(in: .whitespaces).first == "T"
            }
        }
    }

    /// Sends a command line.
    func command(_ text: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(text)\n".utf8))
    }

    /// The next line of output; waits for it.
    func nextLine() -> String? { Self.line(from: output.fileHandleForReading) }

    // MARK: Output and usage

    /// The content of a GET with its own connection.
    func get(_ path: String) throws -> String {
        let client = try RawClient(port: port)
        try client.send("GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return String(decoding: try client.response().body, as: UTF8.self)
    }

    /// A number in `/statistics`; 0 if the name is not listed.
    func statistic(_ name: String) throws -> Int {
        for line in try get("/statistics").split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count == 2, words[0] == name { return Int(words[1]) ?? 0 }
        }
        return 0
    }

    var usage: Usage {
        // The concurrency runtime opens a timer descriptor for each clock at any time; the server itself has none.
        let own = descriptorNames.filter { !$0.contains("timerfd") }
        return Usage(descriptors: own.count, threads: status("Threads:"))
    }

    private var descriptorNames: [String] {
        let folder = "/proc/\(pid)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.map { (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) ?? "gone" }
    }

    /// The resident memory in KiB.
    var resident: Int { status("VmRSS:") }
    /// The maximum of resident memory so far, in KiB.
    var peak: Int { status("VmHWM:") }

    private func status(_ name: String) -> Int {
        let text = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        for line in text.split(separator: "\n") where line.hasPrefix(name) {
            return line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0
        }
        return -1
    }

    /// Checks, after an attack, that the server answers and uses no more resources than at the start.
    func expectRest(
        extraKiB: Int = 16 << 10, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(try get("/healthz") == #"{"status":"ok"}"#, sourceLocation: sourceLocation)
        try waitUntil("connections are closed", sourceLocation: sourceLocation) { try statistic("open") == 1 }
        try waitUntil(
            "descriptors and threads are back at \(baseline)",
            found: "\(usage) \(descriptorNames), was \(baselineNames)", sourceLocation: sourceLocation
        ) {
            usage.descriptors <= baseline.descriptors && usage.threads <= baseline.threads + Self.idleWorkers
        }
        #expect(try statistic("bodyBytes") == 0, sourceLocation: sourceLocation)
        try waitUntil("memory is back: \(baselineResident) KiB", sourceLocation: sourceLocation) {
            resident < baselineResident + extraKiB
        }
        let end = try stop()
        #expect(end.said == "lost 0", sourceLocation: sourceLocation)
        #expect(end.status == 0, sourceLocation: sourceLocation)
    }

    /// The number of the concurrency runtime's workers, which depends on the load and not on the server.
    private static var idleWorkers: Int { ProcessInfo.processInfo.activeProcessorCount + 2 }

    private static func executable() throws -> URL {
        let own = URL(fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        return own.deletingLastPathComponent().appendingPathComponent("HTTPServerProbe")
    }

    private static func line(from handle: FileHandle) -> String? {
        var bytes: [UInt8] = []
        while let byte = try? handle.read(upToCount: 1), let first = byte.first {
            if first == 10 { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(first)
        }
        return nil
    }
}

/// Checks `condition` repeatedly; records an issue if it never becomes true.
func waitUntil(
    _ what: String, found: @autoclosure () -> String = "not", sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () throws -> Bool
) throws {
    if try eventually(condition) { return }
    Issue.record("never came true: \(what); it is \(found())", sourceLocation: sourceLocation)
}

/// Raises the descriptor limit: thousands of sockets exceed the usual soft limit.
func raiseDescriptorLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = min(limit.rlim_max, 16_384)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
