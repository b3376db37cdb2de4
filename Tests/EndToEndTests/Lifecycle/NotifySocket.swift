import Foundation
import Synchronization
import TestSupport

/// Listens like systemd on `$NOTIFY_SOCKET`, and keeps the received messages.
final class NotifySocket: Sendable {
    let path: String
    private let descriptor: Int32
    private let received = Mutex<[String]>([])

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-notify-\(UUID().uuidString)").path
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = Self.address(path)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0 else { throw POSIXError(.EADDRINUSE) }
        var time = timeval(tv_sec: 0, tv_usec: 100_000)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit {
        close(descriptor)
        unlink(path)
    }

    /// Fills the queue, as if the receiver hung: the next message must wait.
    func fill() {
        let sender = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(sender) }
        var address = Self.address(path)
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let size = socklen_t(MemoryLayout<sockaddr_un>.size)
                while sendto(sender, "x", 1, Int32(MSG_DONTWAIT), address, size) == 1 {}
            }
        }
    }

    private static func address(_ path: String) -> sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        return address
    }

    /// Every message so far.
    var messages: [String] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { break }
            received.withLock { $0.append(String(decoding: buffer[..<count], as: UTF8.self)) }
        }
        return received.withLock { $0 }
    }

    /// Waits, for a limited time, until a message has one of these lines.
    func wait(for line: String, count: Int = 1) -> Bool {
        eventually {
            messages.filter { $0.split(separator: "\n").contains { $0.hasPrefix(line) } }.count >= count
        }
    }
}
