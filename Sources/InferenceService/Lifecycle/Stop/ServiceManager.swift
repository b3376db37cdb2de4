internal import FlowControl
internal import Glibc
internal import SystemSupport

/// Notifies the service manager of the daemon's state: sd_notify(3), without its library.
///
/// Messages are datagrams of `NAME=value` lines to the socket in `$NOTIFY_SOCKET`. If the variable is not set, nothing
/// is sent; if sending fails, the daemon continues: it works with and without a service manager. Sending waits at most
/// 100 ms for a receiver that does not read its queue.
package struct ServiceManager: Sendable {
    /// The socket's path; a leading `@` stands for the abstract namespace. Nil if there is no socket.
    private let socketPath: String?
    /// The longest allowed time between two watchdog notifications; nil without a watchdog.
    let watchdogInterval: Duration?

    package init(environment: [String: String]) {
        socketPath = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        let isMine = environment["WATCHDOG_PID"].map { $0 == String(getpid()) } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        watchdogInterval = isMine && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// True if there is a service manager.
    var isListening: Bool { socketPath != nil }

    /// Reports the end of start-up or of a reload.
    func ready(_ status: String) { send("READY=1\nSTATUS=\(status)") }

    /// Reports the begin of a reload; `ready` ends it. Type=notify-reload requires the time.
    func reloading() {
        send("RELOADING=1\nMONOTONIC_USEC=\(MonotonicInstant.now.nanoseconds / 1000)\nSTATUS=reloading")
    }

    func stopping(_ status: String) { send("STOPPING=1\nSTATUS=\(status)") }

    /// Reports one line for `systemctl status`.
    func status(_ text: String) { send("STATUS=\(text)") }

    /// Allows the start or the shutdown this much more time, from now.
    func extendTimeout(by duration: Duration) {
        send("EXTEND_TIMEOUT_USEC=\(duration.components.seconds * 1_000_000)")
    }

    /// Does long work, and extends the timeout until it is done.
    func extendingTimeout<Value: Sendable>(_ name: String, _ work: @escaping @Sendable () async -> Value) async -> Value
    {
        status(name)
        let keeper = Task {
            while !Task.isCancelled {
                extendTimeout(by: .seconds(30))
                try? await Task.sleep(for: .seconds(10))
            }
        }
        defer { keeper.cancel() }
        return await work()
    }

    /// Reports that the daemon works. Call it after a successful check only.
    func watchdog() { send("WATCHDOG=1") }

    private func send(_ message: String) {
        guard let socketPath else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var path = Array(socketPath.utf8)
        guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        if path.first == UInt8(ascii: "@") { path[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        // An abstract name ends with its length, a path with a NUL.
        let length = MemoryLayout<sa_family_t>.size + path.count + (path.first == 0 ? 0 : 1)
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var patience = timeval(tv_sec: 0, tv_usec: 100_000)
        // It fails only for wrong sizes.
        _ = setsockopt(
            descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let lines = Array(message.utf8)
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                lines.withUnsafeBytes {
                    sendto(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL), address, socklen_t(length))
                }
            }
        }
    }
}
