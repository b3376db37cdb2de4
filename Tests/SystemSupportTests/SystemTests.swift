import CSystem
import Glibc
import Synchronization
import SystemSupport
import TestSupport
import Testing

/// Threads, locks, and messages for errors of the system.
@Suite(.timeLimit(.minutes(1))) struct SystemTests {
    @Test("a system thread runs under its name, cut to 15 bytes, with signals blocked")
    func aThreadRunsUnderItsNameWithSignalsBlocked() async throws {
        let seen = Guarded<(name: String, blocks: Bool)?>(nil)
        try Self.withoutBlockedSignals {
            try SystemThread.start("ocelli-test-thread") {
                let name = Self.text(of: "/proc/thread-self/comm")
                var mask = sigset_t()
                pthread_sigmask(SIG_SETMASK, nil, &mask)
                let blocks = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGHUP) == 1
                seen.withLock { $0 = (name, blocks) }
            }
        }
        while !Task.isCancelled, seen.withLock({ $0 == nil }) { try await Task.sleep(for: .milliseconds(1)) }
        #expect(seen.withLock { $0?.name } == "ocelli-test-thr\n")
        #expect(seen.withLock { $0?.blocks } == true)
    }

    /// Swift's pool blocks signals in its threads, and new threads inherit the mask.
    private static func withoutBlockedSignals(_ body: () throws -> Void) rethrows {
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try body()
    }

    @Test("a thread keeps its number, which no other thread has, not even after its end")
    func numbersOfThreads() async {
        var numbers: Set<UInt32> = []
        for _ in 0..<20 {
            let number: UInt32? = await withCheckedContinuation { continuation in
                let isStarted: Void? = try? SystemThread.start("numbered") {
                    let number = csys_thread_number()
                    continuation.resume(returning: number == csys_thread_number() ? number : nil)
                }
                if isStarted == nil { continuation.resume(returning: nil) }
            }
            #expect(number ?? 0 > 0 && numbers.insert(number ?? 0).inserted)
        }
    }

    @Test("a lock lets only one thread in at a time")
    func oneAtATimeIsBehindALock() async throws {
        let count = Guarded(0)
        let inside = Atomic(0)
        let overlaps = Atomic(0)
        let done = Guarded(0)
        for index in 0..<4 {
            try SystemThread.start("count-\(index)") {
                for _ in 0..<20 {
                    count.withLock {
                        if inside.wrappingAdd(1, ordering: .relaxed).newValue > 1 {
                            overlaps.wrappingAdd(1, ordering: .relaxed)
                        }
                        // Long enough for another thread to run in the meantime.
                        usleep(1000)
                        $0 += 1
                        inside.wrappingSubtract(1, ordering: .relaxed)
                    }
                }
                done.withLock { $0 += 1 }
            }
        }
        while !Task.isCancelled, done.withLock({ $0 < 4 }) { try await Task.sleep(for: .milliseconds(1)) }
        #expect(count.withLock { $0 } == 80)
        #expect(overlaps.load(ordering: .relaxed) == 0)
    }

    @Test("a system error has the system's words and its number")
    func errorsHaveTheSystemsWordsAndTheNumber() {
        #expect(SystemError("bind", number: EADDRINUSE).message == "bind: Address already in use (98)")
        #expect(SystemError.words(ENOENT) == "No such file or directory")
    }

    @Test("the reason why a file cannot be read is reported")
    func aFileThatCannotBeReadSaysWhy() throws {
        let folder = "/tmp/ocelli-unreadable-\(getpid())"
        try #require(mkdir(folder, 0o700) == 0)
        defer { rmdir(folder) }
        #expect(UnreadableFile.reason(folder + "/none") == "no such file")
        #expect(UnreadableFile.reason(folder) == "it is a folder, not a file")
        let file = folder + "/file"
        close(creat(file, 0o600))
        defer { unlink(file) }
        #expect(UnreadableFile.reason(file + "/below") == "a component of its path is not a folder")
        #expect(UnreadableFile.reason(file) == "reading it failed")
        let pipe = folder + "/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        defer { unlink(pipe) }
        #expect(UnreadableFile.reason(pipe) == "it is a pipe or a device, not a plain file")
        guard getuid() != 0 else { return }
        chmod(file, 0)
        #expect(UnreadableFile.reason(file).hasPrefix("this user (uid \(getuid())) may not read it"))
    }

    private static func text(of path: String) -> String {
        var bytes = [UInt8](repeating: 0, count: 64)
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
