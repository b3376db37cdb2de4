import Foundation
import SystemSupport
import Testing

/// Work at a low priority. The threads that it starts are those of engines.
@Suite(.serialized) struct LowPriorityTests {
    /// The number of the calling thread.
    private static var thread: Int32 {
        let link = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? ""
        return link.split(separator: "/").last.flatMap { Int32($0) } ?? 0
    }

    /// The nice value of a thread of this process according to the kernel: field 19 of proc_pid_stat(5).
    private static func niceness(of thread: Int32) throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/task/\(thread)/stat", encoding: .utf8)
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        return try #require(Int(fields[17]))
    }

    /// True if a process like this one may raise its priority again, as tested by renice(1).
    private static let mayRaise: Bool = {
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", "renice -n 5 -p $$ && renice -n 0 -p $$"]
        shell.standardOutput = FileHandle.nullDevice
        shell.standardError = FileHandle.nullDevice
        guard (try? shell.run()) != nil else { return false }
        shell.waitUntilExit()
        return shell.terminationStatus == 0
    }()

    @Test("work at a low priority restores the priority of its thread and of threads that it started")
    func threadsAreAsBefore() async throws {
        let usual = try Self.niceness(of: Self.thread)
        let started = Guarded<Int32>(0)
        let (isStarted, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        defer { end.signal() }
        let (outside, within, ofItsThread) = try await onThread {
            let result = try LowPriority.run {
                Result {
                    try SystemThread.start("engine") {
                        started.withLock { $0 = Self.thread }
                        isStarted.signal()
                        end.wait()
                    }
                    isStarted.wait()
                    return (try Self.niceness(of: Self.thread), try Self.niceness(of: started.withLock { $0 }))
                }
            }.get()
            return (try Self.niceness(of: Self.thread), result.0, result.1)
        }
        #expect(outside == usual)
        #expect(try Self.niceness(of: started.withLock { $0 }) == usual)
        let low = Self.mayRaise && usual < 6 ? usual + 13 : usual
        #expect(within == low)
        #expect(ofItsThread == low)
    }

    private func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try SystemThread.start("test") { continuation.resume(with: Result { try work() }) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}
