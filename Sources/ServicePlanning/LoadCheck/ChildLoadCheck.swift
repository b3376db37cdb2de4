import CSystem
import FlowControl
import FoundationEssentials
import Glibc
package import Inference
import Settings
import SystemSupport

/// Tries models in a separate process: this program again, as `ocelli try-model`.
package struct ChildLoadCheck: Sendable {
    /// The command-line flags that configure the model.
    package let flags: [String]
    /// The process's limits of memory in bytes, and of time.
    let memory: UInt64, time: Duration
    /// The number of threads that the process needs.
    let threads: Int
    /// The environment of the process.
    let environment: [String: String]

    /// The subcommand that the process runs.
    package static let command = "try-model"

    /// The number of threads, beyond those of a load check, that must be available to conclude that it did not fail for
    /// lack of them: other processes start and end threads meanwhile.
    private static let spareThreads = 16
    /// The maximum of the output to keep, in bytes: its end.
    private static let maximumOutput = 256 << 10

    /// Loads the model at a path. Blocks until the process has ended.
    func attempt(_ path: String) -> LoadCheck.Outcome {
        switch run(path, flags: flags) {
        case .ended(let outcome): return outcome
        case .answered(let result):
            guard result.problems.isEmpty else {
                return .refused(result.problems.map { BundleProblem(path: $0.path, reason: $0.reason) })
            }
            // Without a cache of compiled models they are in that process only.
            EngineMemory.add(result.decisions)
            return .good(compiledAnew: result.compiledAnew, engineComparison: result.engineComparison)
        }
    }

    /// Runs the model at a path on noise. Blocks until the process has ended.
    package func probe(_ path: String, height: Int, width: Int) -> ProbeOutcome {
        switch run(path, flags: ["\(Self.probeFlag)\(height)x\(width)"] + flags) {
        case .ended(.lost(let reason)), .ended(.impossible(let reason)): return .impossible(reason)
        case .ended: return .impossible("the process that ran it ended without an answer")
        case .answered(let result):
            guard let probe = result.probe else {
                return .impossible(result.problems.first?.reason ?? "the process that ran it had no answer")
            }
            return .seen(probe)
        }
    }

    /// The kernel's limit of a load check's data, as a multiple of its memory limit.
    package static let addressSpace: UInt64 = 4

    /// The flag that precedes the height and width of pictures for runs on noise.
    package static let probeFlag = "--probe="

    /// The end of the process without an answer, or its answer.
    private enum Ending {
        case ended(LoadCheck.Outcome)
        case answered(LoadCheckResult)
    }

    private func run(_ path: String, flags: [String]) -> Ending {
        // A process without its threads may hang in the engine until its time is up.
        guard SystemThread.canStart(threads) else { return .ended(.impossible(HostResources.threadsUsedUp())) }
        // Longer than its time limit: this process normally ends it, and reports that.
        let seconds = UInt32(clamping: time.components.seconds &* 3 / 2 &+ 10)
        let arguments = ["ocelli", Self.command, path, "\(getpid())", "\(seconds)", "\(memory)"] + flags
        var descriptor: Int32 = -1
        let variables = environment.map { "\($0.key)=\($0.value)" }
        let process = CStrings.with(arguments) { arguments in
            CStrings.with(variables) { variables in
                csys_spawn("/proc/self/exe", arguments, variables, &descriptor)
            }
        }
        guard process > 0 else {
            guard process == -EAGAIN else { return .ended(.impossible("cannot start a process (error \(-process))")) }
            return .ended(.impossible(HostResources.threadsUsedUp()))
        }
        defer { _ = csys_close(descriptor) }
        let (output, stop) = collect(descriptor, process: process)
        var signal: Int32 = 0, status: Int32 = 0
        guard csys_wait_child(process, &signal, &status) == 0 else {
            return .ended(.impossible("cannot determine how the process ended"))
        }
        switch stop {
        case .late?:
            let seconds = Units.decimal(Double(time.components.seconds), places: 0)
            return .ended(
                .lost(
                    "the engine was still loading it after \(seconds) s, during its load check in a separate process "
                        + "(load_trial_timeout)"))
        case .large?: return .ended(.lost(tooLarge))
        case nil: break
        }
        guard signal == 0, let result = LoadCheckResult(output: output) else {
            let ending = Self.ending(signal: signal, status: status, output: output)
            // If the program or its libraries were replaced, the failure may not be the model's.
            return .ended(.lost((ReplacedProgram.advice.map { $0 + "; " } ?? "") + ending))
        }
        if result.hadNoThreads {
            // If this process can start the threads, their stacks did not fit into the load check's memory. That is the
            // model's problem: a file that takes the memory before the engine starts its threads must not pass.
            guard SystemThread.canStart(threads + Self.spareThreads) else {
                return .ended(.impossible(HostResources.threadsUsedUp()))
            }
            return .ended(
                .lost(
                    "the engine's threads did not fit into \(Units.bytes(Int(clamping: memory))) of memory during its load check in a separate "
                        + "process, the limit (load_trial_memory)"))
        }
        // Its allocations failed before its memory was read again.
        if memory > 0, result.problems.contains(where: { $0.reason.contains("not enough memory") }) {
            return .ended(.lost(tooLarge))
        }
        return .answered(result)
    }

    private var tooLarge: String {
        "it needed more than \(Units.bytes(Int(clamping: memory))) of memory during its load check in a separate process, "
            + "the limit (load_trial_memory)"
    }

    /// The reason why the process was ended.
    private enum Stop {
        case late, large
    }

    /// The interval in milliseconds at which the memory of the process is read. Touching a gigabyte of pages takes
    /// longer.
    private static let interval: UInt64 = 10

    /// Reads until the process ends, its time is up, or it takes too much memory.
    private func collect(_ descriptor: Int32, process: Int32) -> (output: String, stop: Stop?) {
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        let end = MonotonicInstant.now + time
        while true {
            let left = end.nanoseconds(since: .now) / 1_000_000
            guard left > 0 else {
                _ = csys_kill_group(process)
                return (String(decoding: output, as: UTF8.self), .late)
            }
            if memory > 0, Self.exceedsMemory(process, memory) {
                _ = csys_kill_group(process)
                return (String(decoding: output, as: UTF8.self), .large)
            }
            guard csys_wait_readable(descriptor, Int32(clamping: min(left, Self.interval))) != 0 else { continue }
            let count = csys_read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return (String(decoding: output, as: UTF8.self), nil) }
            output += buffer[..<count]
            if output.count > Self.maximumOutput { output.removeFirst(output.count - Self.maximumOutput / 2) }
        }
    }

    /// True if the resident private memory exceeds `memory` bytes. Reserved address space costs nothing, and pages of
    /// files (the engine's libraries, the model's weights) are reclaimed when memory is scarce. Also true at the
    /// kernel's limit of the process's data: the engine may hang when an allocation fails while it compiles.
    private static func exceedsMemory(_ process: Int32, _ memory: UInt64) -> Bool {
        // proc_pid_statm(5): size, resident, shared, text, 0, data and stack, in pages.
        guard let data = FileManager.default.contents(atPath: "/proc/\(process)/statm") else { return false }
        let page = UInt64(max(1, getpagesize()))
        let fields = String(decoding: data, as: UTF8.self).split(separator: " ").map { UInt64($0) ?? 0 }
        guard fields.count > 5 else { return false }
        let own = fields[1] > fields[2] ? fields[1] - fields[2] : 0
        // Divide rather than multiply, to avoid overflow. "At the limit" is within a hundredth of it.
        return own > memory / page || fields[5] / addressSpace > memory / page / 100 * 99
    }

    private static func ending(signal: Int32, status: Int32, output: String) -> String {
        let last = output.split(whereSeparator: \.isNewline).last.map { ": \($0.suffix(200))" } ?? ""
        let place = "during its load check in a separate process; the daemon is not affected"
        if signal == SIGKILL {
            return "the engine was killed (SIGKILL: out of memory?) \(place)\(last)"
        }
        if [SIGTERM, SIGINT, SIGHUP].contains(signal) {
            return "the process of the load check was terminated (signal \(signal)): load the model again\(last)"
        }
        if signal != 0 { return "the engine crashed (\(signals[signal] ?? "signal \(signal)")) \(place)\(last)" }
        return "the engine exited (status \(status)) \(place)\(last)"
    }

    private static let signals: [Int32: String] = [
        SIGSEGV: "SIGSEGV", SIGBUS: "SIGBUS", SIGABRT: "SIGABRT", SIGILL: "SIGILL", SIGFPE: "SIGFPE",
        SIGTRAP: "SIGTRAP", SIGSYS: "SIGSYS",
    ]
}

/// The outcome of runs on noise in a separate process.
package enum ProbeOutcome: Sendable {
    case seen(OutputProbe)
    /// The reason why the model could not be run.
    case impossible(String)
}
