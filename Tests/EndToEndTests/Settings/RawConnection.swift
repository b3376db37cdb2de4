import Foundation

/// A loopback connection that sends just what it is told to, and waits for what comes no longer than it is told to.
///
/// Sendable: used by one thread at a time.
final class RawConnection: @unchecked Sendable {
    struct Failure: Error {
        let operation: String
        let code = errno
    }

    /// What has come so far.
    private(set) var received = ""
    /// Whether the server has ended the connection.
    private(set) var isEnded = false
    private let descriptor: Int32

    /// Connects to `http://127.0.0.1:PORT`.
    init(_ url: String) throws {
        let port = UInt16(url.split(separator: ":").last ?? "") ?? 0
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(operation: "socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure(operation: "connect") }
    }

    deinit { close(descriptor) }

    /// Sends bytes, as far as the other side takes them within a moment.
    func send(_ bytes: Data) {
        var rest = bytes[...]
        while !rest.isEmpty {
            var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&wait, 1, 100) == 1 else { return }
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    func send(_ text: String) { send(Data(text.utf8)) }

    /// Reads until what has come fulfils a condition, the server ends the connection, or the time is up.
    @discardableResult
    func receive(seconds: Double = 3, until isEnough: (String) -> Bool = { $0.contains("\r\n\r\n") }) -> String {
        let end = Date().addingTimeInterval(seconds)
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !isEnded, !isEnough(received) {
            let rest = end.timeIntervalSinceNow
            guard rest > 0 else { break }
            var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&wait, 1, Int32(rest * 1000) + 1) == 1 else { break }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count <= 0 { isEnded = true } else { received += String(decoding: buffer[..<count], as: UTF8.self) }
        }
        return received
    }

    /// Waits, bounded, for the server to end the connection.
    func waitForEnd(seconds: Double = 3) -> Bool {
        receive(seconds: seconds) { _ in false }
        return isEnded
    }
}
