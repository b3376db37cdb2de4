import Foundation

/// A client that sends exactly what it is told to and goes away as it is told to, over a blocking loopback socket.
///
/// Sendable: used by one thread at a time.
final class CancellationClient: @unchecked Sendable {
    struct Failure: Error {
        let operation: String
        let code = errno
    }

    private var descriptor: Int32

    /// Connects to `http://127.0.0.1:PORT`.
    init(_ url: String) throws {
        let port = UInt16(url.split(separator: ":").last ?? "") ?? 0
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(operation: "socket") }
        var time = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
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

    deinit { close() }

    /// Sends a picture to be classified.
    func post(_ picture: Data, to path: String = "/v1/classify") throws {
        try send(Self.request(picture, to: path))
    }

    /// The bytes of a request that has a picture classified.
    static func request(_ picture: Data, to path: String = "/v1/classify") -> Data {
        Data("POST \(path) HTTP/1.1\r\nHost: x\r\nContent-Length: \(picture.count)\r\n\r\n".utf8) + picture
    }

    /// Sends bytes, all of them.
    func send(_ bytes: Data) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress.map { $0 + sent }, $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure(operation: "send") }
            sent += count
        }
    }

    /// Ends the sending side and goes on listening.
    func halfClose() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Everything until the server ends the connection.
    func everything() -> String {
        var all: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &bytes, bytes.count, 0)
            guard count > 0 else { return String(decoding: all, as: UTF8.self) }
            all += bytes[..<count]
        }
    }

    /// Ends the connection as a process that exits does: FIN, and RST to whatever comes after.
    func close() {
        guard descriptor >= 0 else { return }
        _ = Glibc.close(descriptor)
        descriptor = -1
    }

    /// Ends the connection with RST at once.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        close()
    }
}
