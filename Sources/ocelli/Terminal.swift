internal import Glibc

/// Standard output and error.
enum Terminal {
    /// Whether a person watches standard error.
    static var isInteractive: Bool { isatty(2) == 1 }

    /// Makes sure that 0, 1 and 2 are taken. Whoever started this process may have closed them: the next things to be opened,
    /// a client's connection maybe, would be taken for the terminal, and log lines written to it.
    static func holdDescriptors() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            // The lowest that is free is this one, for those below it are taken. Where it cannot be opened nothing can.
            guard open("/dev/null", O_RDWR) == descriptor else { return }
        }
    }

    /// A line on standard output.
    static func print(_ text: String) { write(text + "\n", to: 1) }

    /// A line on standard error.
    static func complain(_ text: String) { write(text + "\n", to: 2) }

    /// Text on standard error that the next overwrites; nothing where nobody watches.
    static func progress(_ text: String) {
        guard isInteractive else { return }
        write("\r\u{1B}[K" + text, to: 2)
    }

    /// Ends the process.
    static func exit(_ status: Int32) -> Never { Glibc.exit(status) }

    private static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent)
            }
            // A reader that has gone (`| head`) wants no more.
            guard count > 0 else { return }
            sent += count
        }
    }
}
