internal import CSystem
internal import Glibc
package import SystemSupport

/// The limit of open files (RLIMIT_NOFILE, `ulimit -n`). libdispatch ends the process with SIGILL, without a message,
/// if it gets no descriptor for its timers, or for the files of /proc in which it counts threads.
package enum OpenFilesLimit {
    /// The descriptors that a command opens: of libdispatch, pipes, model files.
    private static let minimum = 24
    /// The part of ``minimum`` that is open when the daemon opens its sockets.
    private static let early = 8

    /// Checks that a command can open its descriptors. Call it before the first task, which starts libdispatch.
    package static func check() throws(CommandError) { try check(minimum) }

    /// Checks that the daemon can open its sockets and the descriptors that it opens later.
    /// - Parameter sockets: the number of the server's descriptors.
    package static func check(sockets: Int) throws(CommandError) { try check(minimum - early + sockets) }

    /// Opens and closes this many descriptors.
    private static func check(_ needed: Int) throws(CommandError) {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        while opened.count < needed {
            let descriptor = csys_eventfd()
            guard descriptor >= 0 else {
                throw CommandError(
                    "cannot open \(needed) more files: \(String(cString: strerror(-descriptor))); "
                        + (Process.openFileLimit.map { "the limit of open files is \($0): " } ?? "")
                        + "raise it (ulimit -n 1024; LimitNOFILE= in a systemd unit)")
            }
            opened.append(descriptor)
        }
    }
}
