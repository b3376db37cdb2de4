import Glibc

/// A blocking keep-alive connection, on which a thread makes one request after the other.
final class SocketClient: Sendable {
    private let descriptor: Int32
    private static let text = Array("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx".utf8)

    init(port: UInt16) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        precondition(result == 0, "127.0.0.1:\(port) refuses a connection: errno \(errno)")
    }

    deinit {
        close(descriptor)
    }

    /// The answer has no content: it ends with its head, and arrives at once.
    func request() {
        precondition(Self.text.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, 0) } == Self.text.count)
        var answer = [UInt8](repeating: 0, count: 1024)
        let count = answer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        precondition(count > 12 && answer[9] == UInt8(ascii: "2"), "the answer is not 200")
    }
}
