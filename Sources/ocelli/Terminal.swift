internal import Glibc

/// Standard output and error.
enum Terminal {
    /// Whether a person watches standard error.
    static var isInteractive: Bool { isatty(2) == 1 }

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
