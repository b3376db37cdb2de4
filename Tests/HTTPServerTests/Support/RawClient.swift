import CSystem
import Foundation

/// A client that sends exactly the bytes it is told to, over a blocking socket.
final class RawClient {
    /// What went wrong with the connection.
    enum Failure: Error, Equatable {
        case system(String, Int32)
        /// The server closed before the answer was whole; what had come.
        case closed(String)
        case timedOut
    }

    /// One answer.
    struct Response {
        var status: Int
        var fields: [String: String]
        var body: [UInt8]
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    private var descriptor: Int32
    private var received: [UInt8] = []

    /// Connects to the loopback port.
    init(port: UInt16, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | 0o2_000_000, 0)
        guard descriptor >= 0 else { throw Failure.system("socket", errno) }
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure.system("connect", errno) }
        setTimeout(seconds: 20)
    }

    /// Connects to a Unix-domain socket.
    init(path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | 0o2_000_000, 0)
        guard descriptor >= 0 else { throw Failure.system("socket", errno) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw Failure.system("connect", errno) }
        setTimeout(seconds: 20)
    }

    deinit { close() }

    private func setTimeout(seconds: Int) {
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    func close() {
        if descriptor >= 0 { csys_close(descriptor) }
        descriptor = -1
    }

    /// Closes with RST.
    func reset() {
        csys_set_abortive_close(descriptor)
        close()
    }

    /// Ends the sending side.
    func finish() {
        csys_shutdown_write(descriptor)
    }

    func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                csys_send(descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent)
            }
            guard count > 0 else { throw Failure.system("send", Int32(-count)) }
            sent += count
        }
    }

    /// Sends on a thread of its own, until all is sent or the connection ends. The socket must stay open as long.
    func sendInBackground(_ bytes: [UInt8], times: Int = 1) -> Thread {
        let thread = Thread { [descriptor] in
            for _ in 0..<times {
                var sent = 0
                while sent < bytes.count {
                    let count = bytes.withUnsafeBytes {
                        csys_send(descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent)
                    }
                    guard count > 0 else { return }
                    sent += count
                }
            }
        }
        thread.start()
        return thread
    }

    /// Receives more; false at the end.
    func receiveMore() throws -> Bool {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = csys_receive(descriptor, &bytes, bytes.count)
        if count == -Int(EAGAIN) { throw Failure.timedOut }
        guard count >= 0 else { throw Failure.system("recv", Int32(-count)) }
        received.append(contentsOf: bytes[..<count])
        return count > 0
    }

    /// Everything up to the server's end.
    func rest() throws -> String {
        while try receiveMore() {}
        defer { received = [] }
        return String(decoding: received, as: UTF8.self)
    }

    /// Whether the server has ended the connection, by FIN or RST, without another byte.
    func isEnded() -> Bool {
        do { return try !receiveMore() && received.isEmpty } catch Failure.timedOut { return false } catch {
            return true
        }
    }

    /// The next response, interim ones too. To HEAD there is no body.
    func response(toHead: Bool = false) throws -> Response {
        let end = try receive(until: Array("\r\n\r\n".utf8))
        let head = String(decoding: received[..<end], as: UTF8.self)
        received.removeFirst(end)
        let lines = head.components(separatedBy: "\r\n").filter { !$0.isEmpty }
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        let status = Int(lines[0].split(separator: " ")[1]) ?? 0
        let length = status < 200 || toHead ? 0 : Int(fields["content-length"] ?? "") ?? 0
        while received.count < length {
            guard try receiveMore() else { throw Failure.closed(String(decoding: received, as: UTF8.self)) }
        }
        defer { received.removeFirst(length) }
        return Response(status: status, fields: fields, body: Array(received[..<length]))
    }

    private func receive(until end: [UInt8]) throws -> Int {
        var from = 0
        while true {
            if received.count >= end.count {
                for start in from...(received.count - end.count) where received[start] == end[0] {
                    if Array(received[start..<start + end.count]) == end { return start + end.count }
                }
                from = received.count - end.count + 1
            }
            guard try receiveMore() else { throw Failure.closed(String(decoding: received, as: UTF8.self)) }
        }
    }
}
