internal import Glibc
internal import JSON
internal import Synchronization
internal import SystemSupport

/// Standard output and error.
enum Terminal {
    /// True if standard error is a terminal: a person watches it.
    static var isInteractive: Bool { isatty(STDERR_FILENO) == 1 }

    /// The state of the streams: whether a line of progress stands there, and why standard output could not be written
    /// to (0: it could).
    private static let state = Mutex<(progress: Bool, failure: Int32)>((false, 0))

    /// Makes sure that 0, 1 and 2 are taken. The parent process may have closed them: the next things to be opened,
    /// a client's connection maybe, would be taken for the terminal, and log lines written to it.
    static func holdDescriptors() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            // The lowest that is free is this one, for those below it are taken. Where it cannot be opened nothing can.
            guard open("/dev/null", O_RDWR) == descriptor else { return }
        }
    }

    /// A line on standard output.
    static func print(_ text: String) {
        clearProgress()
        if let failure = write(harmless(text) + "\n", to: STDOUT_FILENO) { state.withLock { $0.failure = failure } }
    }

    /// True if a line could not be written to standard output: its reader has gone, or the disk is full.
    static var isOutputLost: Bool { state.withLock { $0.failure != 0 } }

    /// A line on standard error.
    static func complain(_ text: String) {
        clearProgress()
        // Where nothing can be written, nothing is left to do.
        _ = write(harmless(text) + "\n", to: STDERR_FILENO)
    }

    /// Text without the characters that a terminal obeys or does not show: names of files, labels of models and answers
    /// of servers may hold any. An object stays JSON.
    private static func harmless(_ text: String) -> String {
        text.utf8.first == UInt8(ascii: "{") ? PrintableText.json(text) : PrintableText.text(text, keepsLines: true)
    }

    /// Text on standard error that the next overwrites, and any other line; nothing where standard error is not a
    /// terminal.
    static func progress(_ text: String) {
        guard isInteractive else { return }
        clearProgress()
        guard !text.isEmpty else { return }
        state.withLock { $0.progress = true }
        _ = write(PrintableText.text(text), to: STDERR_FILENO)
    }

    /// Ends the process. Output that was lost (a full disk, say) is a failure; a reader that has gone (`| head`) wanted
    /// no more. No static destructor runs: another thread may be letting go of a model, which needs what the engine has
    /// in such objects.
    static func exit(_ status: Int32) -> Never {
        clearProgress()
        let failure = state.withLock { $0.failure }
        fflush(nil)
        guard failure != 0, failure != EPIPE else { Process.exit(status) }
        complain("ocelli: cannot write to standard output: \(String(cString: strerror(failure)))")
        Process.exit(status == 0 ? 1 : status)
    }

    private static func clearProgress() {
        let isThere = state.withLock { state in
            defer { state.progress = false }
            return state.progress
        }
        if isThere { _ = write("\r\u{1B}[K", to: STDERR_FILENO) }
    }

    /// Writes all of it.
    /// - Returns: the error's number, where that was impossible.
    private static func write(_ text: String, to descriptor: Int32) -> Int32? {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let (count, error) = bytes.withUnsafeBytes { bytes -> (Int, Int32) in
                errno = 0
                let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent)
                return (count, errno)
            }
            if count > 0 {
                sent += count
            } else if error == EAGAIN {
                // Another program has made the terminal or pipe non-blocking: its reader will get to it.
                var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wanted, 1, 1000)
            } else if error != EINTR {
                return error
            }
        }
        return nil
    }
}
