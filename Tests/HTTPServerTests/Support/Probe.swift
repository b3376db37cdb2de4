import CSystem
import Foundation
import TestSupport
import Testing

/// The server as its own process, started for one test and ended with it.
final class Probe {
    /// The resources that the process uses.
    struct Usage: Equatable {
        var descriptors: Int
        var threads: Int
    }

    /// The first TCP port, 0 if there is none.
    let port: UInt16
    /// All addresses it said it was bound to.
    let addresses: [String]
    /// The resources that it uses after its first requests.
    private(set) var baseline = Usage(descriptors: 0, threads: 0)
    private(set) var baselineResident = 0
    private var baselineNames: [String] = []

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    var pid: Int32 { process.processIdentifier }

    /// Starts the probe with settings as `name=value` and waits until it listens. With a `launcher`, that command is
    /// run with the probe's path and the settings as its last arguments.
    init(_ settings: String..., launcher: [String] = []) throws {
        raiseDescriptorLimit()
        let executable = try Self.executable()
        // Large pieces go back to the system as soon as they are freed, so that resident memory is what the server
        // holds: malloc would otherwise keep pieces of the size of one that was freed before.
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
            // What the concurrency runtime opens for its first task and its first timer is not a leak.
            for _ in 0..<8 { _ = try get("/task") }
            _ = try get("/sleep?ms=1")
            try waitUntil("the probe is at rest") { try statistic("open") == 1 }
            // The connection that asked for the statistics is being closed: the least of some looks is the rest.
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

    /// Asks the process to shut down (or, with its input left open, waits for it to end by itself) and returns what it
    /// said of it, and its exit status (66: a sanitizer found something).
    func stop(closingInput: Bool = true) throws -> (said: String, status: Int32) {
        if closingInput { try input.fileHandleForWriting.close() }
        if !eventually(within: 60, every: 0.002, { !process.isRunning }) {
            Issue.record("the probe did not end within a minute: it is killed")
            kill(pid, SIGKILL)
        }
        process.waitUntilExit()
        // Not to the end of the file: children of other tests that were started meanwhile may hold the pipe open.
        let descriptor = output.fileHandleForReading.fileDescriptor
        csys_set_nonblocking_cloexec(descriptor)
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = max(0, read(descriptor, &bytes, bytes.count))
        let said = String(decoding: bytes[..<count], as: UTF8.self)
        return (said.trimmingCharacters(in: .whitespacesAndNewlines), process.terminationStatus)
    }

    /// Stops the process, and returns when each of its threads stands still: the signal goes to one, which stops the
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

    /// The next line that it says; waits for it.
    func nextLine() -> String? { Self.line(from: output.fileHandleForReading) }

    // MARK: What it says and uses

    /// The content of a GET with its own connection.
    func get(_ path: String) throws -> String {
        let client = try RawClient(port: port)
        try client.send("GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return String(decoding: try client.response().body, as: UTF8.self)
    }

    /// One of the numbers in `/statistics`; 0 if it is not named.
    func statistic(_ name: String) throws -> Int {
        for line in try get("/statistics").split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count == 2, words[0] == name { return Int(words[1]) ?? 0 }
        }
        return 0
    }

    var usage: Usage {
        // The concurrency runtime opens a timer descriptor for each clock when it pleases; the server has none.
        let own = descriptorNames.filter { !$0.contains("timerfd") }
        return Usage(descriptors: own.count, threads: status("Threads:"))
    }

    private var descriptorNames: [String] {
        let folder = "/proc/\(pid)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.map { (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) ?? "gone" }
    }

    /// Resident memory in KiB.
    var resident: Int { status("VmRSS:") }
    /// The most resident memory there ever was, in KiB.
    var peak: Int { status("VmHWM:") }

    private func status(_ name: String) -> Int {
        let text = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        for line in text.split(separator: "\n") where line.hasPrefix(name) {
            return line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0
        }
        return -1
    }

    /// The end of every abuse: the server answers, and holds no more than at its beginning.
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

    /// Workers of the concurrency runtime come and go with the load; none of them is the server's.
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

/// Looks again and again until `condition` holds; records an issue if it never does.
func waitUntil(
    _ what: String, found: @autoclosure () -> String = "not", sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () throws -> Bool
) throws {
    if try eventually(condition) { return }
    Issue.record("never came true: \(what); it is \(found())", sourceLocation: sourceLocation)
}

/// Thousands of sockets need more descriptors than the usual soft limit.
func raiseDescriptorLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = min(limit.rlim_max, 16_384)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
