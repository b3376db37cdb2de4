internal import Glibc
internal import JSON
internal import Synchronization
internal import SystemSupport

/// Functions for standard output and standard error.
enum Terminal {
    /// True if standard error is a terminal, which a person probably watches.
    static var isInteractive: Bool { isatty(STDERR_FILENO) == 1 }

    /// The state of the streams: whether a progress line is visible, and the error number of the last failed write to
    /// standard output (0: none).
    private static let state = Mutex<(progress: Bool, failure: Int32)>((false, 0))

    /// Ensures that descriptors 0, 1 and 2 are open. The parent process may have closed them: then the next opened
    /// file, possibly a client's connection, would be used as the terminal, and log lines would be written to it.
    static func holdDescriptors() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            // The lowest free descriptor is this one, because all lower ones are open. If /dev/null cannot be opened,
            // nothing can be done.
            guard open("/dev/null", O_RDWR) == descriptor else { return }
        }
    }

    /// Writes a line to standard output.
    static func print(_ text: String) {
        clearProgress()
        if let failure = write(harmless(text) + "\n", to: STDOUT_FILENO) { state.withLock { $0.failure = failure } }
    }

    /// True if a line could not be written to standard output, because its reader has closed it or the disk is full.
    static var isOutputLost: Bool { state.withLock { $0.failure != 0 } }

    /// Writes a line to standard error.
    static func complain(_ text: String) {
        clearProgress()
        // If this fails, the error cannot be reported anywhere.
        _ = write(harmless(text) + "\n", to: STDERR_FILENO)
    }

    /// The text without control and invisible characters, which names of files, labels of models and answers of servers
    /// may contain. An object stays JSON.
    private static func harmless(_ text: String) -> String {
        text.utf8.first == UInt8(ascii: "{") ? PrintableText.json(text) : PrintableText.text(text, keepsLines: true)
    }

    /// Writes text to standard error that the next text overwrites; writes nothing if standard error is not a terminal.
    static func progress(_ text: String) {
        guard isInteractive else { return }
        clearProgress()
        guard !text.isEmpty else { return }
        state.withLock { $0.progress = true }
        _ = write(PrintableText.text(text), to: STDERR_FILENO)
    }

    /// Ends the process. Lost output (because of a full disk, for example) is a failure, but not a closed reader
    /// (`| head`). Runs no static destructors, because another thread may still release a model, which needs the
    /// engine's static objects.
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

    /// Writes the whole text.
    /// - Returns: the error number of a failure; nil after success.
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
                // Another program has made the terminal or pipe non-blocking: wait for its reader.
                var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wanted, 1, 1000)
            } else if error != EINTR {
                return error
            }
        }
        return nil
    }
}
