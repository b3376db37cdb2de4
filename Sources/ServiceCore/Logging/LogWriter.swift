internal import CSystem
internal import Dispatch
internal import FlowControl
internal import Glibc
internal import Synchronization
package import SystemSupport

/// Writes log lines to a descriptor on its own thread, so that threads that log never wait for the reader. Thread-safe.
///
/// Otherwise a full pipe with a slow or missing reader would stop the event loop, and with it the daemon.
package final class LogWriter: Sendable {
    /// The maximum number of bytes that wait to be written; as many may be in the current batch. This is a second or
    /// two of a busy daemon.
    package static let capacity = 1 << 20
    /// The time for which the writer waits for more lines before it sleeps.
    private static let moment = DispatchTimeInterval.milliseconds(2)

    /// The state that the thread uses; it may outlive the writer.
    private final class Core: Sendable {
        let queue: Mutex<LogQueue>
        let wake = DispatchSemaphore(value: 0)
        let descriptor: Int32
        let notice: @Sendable (UInt64) -> [UInt8]

        init(descriptor: Int32, capacity: Int, notice: @escaping @Sendable (UInt64) -> [UInt8]) {
            queue = Mutex(LogQueue(capacity: capacity))
            self.descriptor = descriptor
            self.notice = notice
        }

        func run() {
            var batch: [UInt8] = []
            while true {
                switch queue.withLock({ $0.next(&batch) }) {
                case .write(let lost):
                    if lost > 0 { batch += notice(lost) }
                    write(batch)
                case .linger: _ = wake.wait(timeout: .now() + LogWriter.moment)
                case .sleep: wake.wait()
                case .end: return
                }
            }
        }

        private func write(_ bytes: [UInt8]) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let written = rest.withUnsafeBytes { csys_write(descriptor, $0.baseAddress, $0.count) }
                switch written {
                case 0...: rest = rest.dropFirst(written)
                case -Int(EAGAIN):
                    // Another program that shares the descriptor has made it non-blocking.
                    var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&wanted, 1, -1)
                default:
                    // The reader is gone; only the metrics can report that.
                    let lines = rest.count { $0 == UInt8(ascii: "\n") }
                    return queue.withLock { $0.couldNotWrite(lines: lines) }
                }
            }
        }
    }

    private let core: Core

    /// Starts the thread.
    /// - Parameters:
    ///   - descriptor: the descriptor to write to; never closed.
    ///   - notice: the line that reports the number of lost lines.
    package init(
        descriptor: Int32, capacity: Int = LogWriter.capacity, notice: @escaping @Sendable (UInt64) -> [UInt8]
    ) throws(CommandError) {
        let core = Core(descriptor: descriptor, capacity: capacity, notice: notice)
        self.core = core
        do throws(SystemError) {
            try SystemThread.start("log") { core.run() }
        } catch {
            throw CommandError("cannot start a thread for the log: \(error.message)")
        }
    }

    deinit {
        core.queue.withLock { $0.end() }
        core.wake.signal()
    }

    /// Queues a line, which ends with a newline; never waits.
    /// - Parameter isImportant: whether to write it at once, and to queue it if there is no room for others.
    package func write(_ line: [UInt8], isImportant: Bool) {
        if core.queue.withLock({ $0.append(line, isImportant: isImportant) }) { core.wake.signal() }
    }

    /// The number of lines lost so far.
    package var lostLines: UInt64 { core.queue.withLock { $0.lost } }

    /// Returns when everything is written, or after the time: the log may have no reader.
    package func flush(within time: Duration) async {
        let end = MonotonicInstant.now + time
        while !core.queue.withLock({ $0.isWritten }), MonotonicInstant.now < end {
            try? await Task.sleep(for: .milliseconds(1))
        }
    }

    /// Like ``flush(within:)``, for a thread that may block.
    package func flushBlocking(within time: Duration) {
        let end = MonotonicInstant.now + time
        while !core.queue.withLock({ $0.isWritten }), MonotonicInstant.now < end { usleep(1000) }
    }
}
