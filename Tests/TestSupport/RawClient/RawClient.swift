internal import CSystem
public import Foundation

/// A client that sends exactly the given bytes and closes as the test says, over a blocking loopback socket.
///
/// `RawClient+Receiving.swift` reads bytes. A client belongs to the thread that made it: it is not Sendable. An object,
/// and with it its connection, may be released after its last use; `withExtendedLifetime` keeps it open.
public final class RawClient {
    /// A fault of the connection.
    public enum Failure: Error, Equatable {
        /// A system call, and its error number.
        case system(String, Int32)
        /// The server closed before the answer was complete; the received bytes.
        case closed(String)
        /// The answer cannot be parsed: the line.
        case malformed(String)
        /// No bytes were received, or sent, within the client's timeout.
        case timedOut
    }

    /// The socket; -1 when it is closed.
    private(set) var descriptor: Int32
    /// The received bytes that were not read yet.
    var bytes: [UInt8] = []

    /// Connects to a port of 127.0.0.1.
    /// - Parameters:
    ///   - receiveBuffer: the size of the socket's receive buffer in bytes; nil for the system's default.
    ///   - patience: the timeout of a call in seconds.
    ///   - host: the client's address is 127.0.0.HOST.
    public init(port: UInt16, receiveBuffer: Int32? = nil, patience: Int = 20, from host: UInt8 = 1) throws {
        descriptor = try Self.socket(AF_INET, patience: patience)
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        if host != 1 {
            let result = withUnsafeBytes(of: Self.loopback(host, port: 0)) { bytes in
                bind(descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(bytes.count))
            }
            guard result == 0 else { throw Failure.system("bind", errno) }
        }
        try connect(to: Self.loopback(1, port: port))
    }

    private static func loopback(_ host: UInt8, port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = (0x7F00_0000 | UInt32(host)).bigEndian
        return address
    }

    /// Connects to `http://127.0.0.1:PORT`, as in ``Daemon/url``, with a timeout of a minute, because a daemon may be
    /// busy.
    public convenience init(_ url: String, from host: UInt8 = 1) throws {
        guard let port = url.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw Failure.system(url, EINVAL)
        }
        try self.init(port: port, patience: 60, from: host)
    }

    /// Connects to a Unix-domain socket.
    public init(path: String) throws {
        descriptor = try Self.socket(AF_UNIX, patience: 20)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        try connect(to: address)
    }

    deinit { close() }

    private static func socket(_ family: Int32, patience: Int) throws -> Int32 {
        let descriptor = Glibc.socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure.system("socket", errno) }
        var time = timeval(tv_sec: patience, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
        return descriptor
    }

    private func connect<Address>(to address: Address) throws {
        let result = withUnsafeBytes(of: address) { bytes in
            Glibc.connect(descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(bytes.count))
        }
        guard result == 0 else { throw Failure.system("connect", errno) }
    }

    // MARK: Sending

    /// Sends all bytes.
    public func send(_ bytes: some ContiguousBytes) throws { try Self.send(bytes, over: descriptor) }

    /// Sends a text.
    public func send(_ text: String) throws { try send(Array(text.utf8)) }

    private static func send(_ bytes: some ContiguousBytes, over descriptor: Int32) throws {
        try bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = csys_send(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                guard count > 0 else { throw Failure.system("send", Int32(-count)) }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Sends a request to classify a picture.
    public func post(_ picture: Data, to path: String = "/v1/classify") throws {
        try send(Self.request(picture, to: path))
    }

    /// The bytes of a request to classify a picture. It gets no shared answer of an equal request.
    public static func request(_ picture: Data, to path: String = "/v1/classify") -> Data {
        let head =
            "POST \(path) HTTP/1.1\r\nHost: x\r\nCache-Control: no-store\r\nContent-Length: \(picture.count)\r\n\r\n"
        return Data(head.utf8) + picture
    }

    /// Sends bytes while the other side takes them within a moment, and ignores the rest. Used if the server is
    /// expected to refuse them.
    public func offer(_ bytes: Data) {
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

    /// Offers a text.
    public func offer(_ text: String) { offer(Data(text.utf8)) }

    /// Sends bytes `times` times on its own thread, until all is sent or the connection ends. The socket must stay open
    /// until then.
    public func sendInBackground(_ bytes: [UInt8], times: Int = 1) -> Thread {
        let thread = Thread { [descriptor] in
            for _ in 0..<times {
                // The server may end the connection: then there is nothing more to send.
                do { try Self.send(bytes, over: descriptor) } catch { return }
            }
        }
        thread.start()
        return thread
    }

    // MARK: Closing

    /// Ends the sending side and continues listening.
    public func finish() { csys_shutdown_write(descriptor) }

    /// Ends the connection like a process that exits: FIN, and RST to later data.
    public func close() {
        if descriptor >= 0 { csys_close(descriptor) }
        descriptor = -1
    }

    /// Ends the connection with RST at once.
    public func reset() {
        csys_set_abortive_close(descriptor)
        close()
    }
}
