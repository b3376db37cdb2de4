import CSystem
import Glibc

/// One listening socket.
struct Listener: Sendable {
    let descriptor: Int32
    /// The address that the socket is bound to, with port 0 resolved: `127.0.0.1:8080` or `unix:/run/x.sock`.
    let address: String
    /// The index in the configuration's `listeners`.
    let index: Int
    /// The socket's file, for a Unix-domain socket that this server made.
    let file: UnixSocketFile?
    /// True if a service manager passed the socket. It keeps the socket and its pending connections for the next
    /// process.
    var isPassed = false

    /// Binds all addresses of the configuration. Returns one list per event loop: a TCP address gets one socket per
    /// loop (SO_REUSEPORT spreads the connections), other sockets are shared by all loops.
    static func open(_ configuration: HTTPServerConfiguration) throws(HTTPServerError) -> [[Listener]] {
        let loops = max(1, configuration.eventLoops)
        let backlog = Int32(clamping: max(1, configuration.backlog))
        var perLoop = Array(repeating: [Listener](), count: loops)
        do throws(HTTPServerError) {
            for (position, configured) in configuration.listeners.enumerated() {
                let address = configured.address
                switch address {
                case .tcp(let host, let port):
                    var port = port
                    for index in 0..<loops {
                        let sharing =
                            loops == 1 ? CSYS_SHARING_NONE : index == 0 ? CSYS_SHARING_FIRST : CSYS_SHARING_NEXT
                        let listener = try tcp(
                            host, &port, address, position: position, backlog: backlog, sharing: sharing)
                        perLoop[index].append(listener)
                    }
                case .unix(let path, let mode, let owner):
                    let made = try UnixSocketFile.listen(path: path, mode: mode, owner: owner, backlog: backlog)
                    let listener = Listener(
                        descriptor: made.descriptor, address: "unix:\(path)", index: position, file: made.file)
                    for index in 0..<loops { perLoop[index].append(listener) }
                case .systemd, .systemdNamed:
                    for listener in try passed(address, position: position) {
                        for index in 0..<loops { perLoop[index].append(listener) }
                    }
                }
            }
            guard perLoop[0].isEmpty == false else { throw .noListener }
            for listener in perLoop.joined() { boundSending(listener, configuration) }
        } catch {
            close(perLoop)
            throw error
        }
        return perLoop
    }

    /// Stops new handshakes. Connections whose handshake has begun can still be accepted. Called before `close`, so
    /// that no connection is reset.
    static func stopHandshakes(_ perLoop: [[Listener]]) {
        for listener in perLoop.joined() where !listener.isPassed {
            listener.file?.remove()
            csys_stop_handshakes(listener.descriptor)
        }
    }

    /// True if handshakes may be in progress that this process cannot see. The kernel reports a handshake to a process
    /// only when it is complete; between two hosts it takes a round trip. On the loopback interface and for a
    /// Unix-domain socket it is complete before `connect` returns; a passed socket stays open for the next process.
    static func mayHaveHandshakes(_ perLoop: [[Listener]]) -> Bool {
        perLoop.joined().contains { listener in
            guard !listener.isPassed, listener.file == nil else { return false }
            var address = csys_address()
            guard csys_local_address(listener.descriptor, &address) >= 0 else { return true }
            return !csys_address_is_loopback(&address)
        }
    }

    /// Closes every socket once and removes the socket files.
    static func close(_ perLoop: [[Listener]]) {
        var closed: Set<Int32> = []
        for listener in perLoop.joined() where closed.insert(listener.descriptor).inserted {
            listener.file?.remove()
            csys_close(listener.descriptor)
        }
    }

    /// Limits the bytes of answers that the kernel holds for each connection. Accepted sockets inherit the limits.
    /// Bytes that were sent and are not acknowledged count only for the first limit, so that the second one does not
    /// slow down distant clients.
    ///
    /// Sockets that are closed while they hold answers, as at the end of the process, belong to the kernel.
    /// TCP_USER_TIMEOUT makes it drop such an answer when its client has taken nothing for twice the write timeout.
    private static func boundSending(_ listener: Listener, _ configuration: HTTPServerConfiguration) {
        let bytes = Int32(clamping: max(configuration.sendBufferBytes, 4096))
        csys_set_send_buffer(listener.descriptor, bytes)
        csys_set_unsent(listener.descriptor, bytes / 4)
        let seconds = min(max(configuration.writeTimeout.components.seconds, 0), 86_400)
        csys_set_user_timeout(listener.descriptor, UInt32(clamping: 2000 * (seconds + 1)))
    }

    private static func tcp(
        _ host: String, _ port: inout UInt16, _ address: ListenerAddress, position: Int, backlog: Int32,
        sharing: csys_sharing
    ) throws(HTTPServerError) -> Listener {
        let descriptor = csys_listen_tcp(host, port, backlog, sharing)
        guard descriptor >= 0 else { throw .listen(address: address.description, errno: -descriptor) }
        let bound = boundAddress(descriptor) ?? address.description
        // The other loops bind to the port that the first one got.
        if port == 0, let digits = bound.split(separator: ":").last, let given = UInt16(digits) { port = given }
        return Listener(descriptor: descriptor, address: bound, index: position, file: nil)
    }

    private static func passed(_ address: ListenerAddress, position: Int) throws(HTTPServerError) -> [Listener] {
        var requestedSockets = SystemdSockets.current.sockets
        if case .systemdNamed(let name) = address { requestedSockets = requestedSockets.filter { $0.name == name } }
        var listeners: [Listener] = []
        for socket in requestedSockets {
            // Do not close it: systemd may pass descriptors that are not listening sockets.
            guard csys_is_listening(socket.descriptor) == 1 else { continue }
            let prepared = csys_set_nonblocking_cloexec(socket.descriptor)
            guard prepared >= 0 else { throw .listen(address: address.description, errno: -prepared) }
            csys_set_stream_options(socket.descriptor)
            listeners.append(
                Listener(
                    descriptor: socket.descriptor, address: boundAddress(socket.descriptor) ?? socket.name,
                    index: position, file: nil, isPassed: true))
        }
        guard !listeners.isEmpty else { throw .noPassedSocket(address.description) }
        return listeners
    }

    private static func boundAddress(_ descriptor: Int32) -> String? {
        var address = csys_address()
        guard csys_local_address(descriptor, &address) >= 0 else { return nil }
        return address.text
    }
}

extension csys_address {
    /// The address as text: `127.0.0.1:8080`, `[::1]:8080` or `unix`.
    var text: String {
        withUnsafePointer(to: self) { address in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
                let count = Int(csys_address_format(address, text.baseAddress, 128))
                return String(decoding: UnsafeRawBufferPointer(text)[..<max(0, count)], as: UTF8.self)
            }
        }
    }
}
