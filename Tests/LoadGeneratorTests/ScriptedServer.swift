import CSystem
import Foundation
import Synchronization

/// A server that answers every request (without a body) with the same bytes, or misbehaves. Uses one thread, one
/// connection after another; ends when its listener is closed.
final class ScriptedServer: Sendable {
    enum Behaviour: Sendable {
        case answer(String)
        /// Reads, and never answers.
        case silence
        /// Closes the connection after reading a request.
        case hangUp
        /// Answers; delays the answer to the first request by this many milliseconds.
        case stall(milliseconds: UInt32, answer: String)
    }

    let port: UInt16
    private let listener: Int32
    private let isStopped = Atomic(false)

    init(_ behaviour: Behaviour) throws {
        let descriptor = csys_listen_tcp("127.0.0.1", 0, 64, CSYS_SHARING_NONE)
        guard descriptor >= 0 else { throw POSIXError(.EADDRNOTAVAIL) }
        listener = descriptor
        var address = csys_address()
        _ = csys_local_address(descriptor, &address)
        var text = [CChar](repeating: 0, count: 128)
        let count = csys_address_format(&address, &text, 128)
        let name = String(decoding: text.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        port = UInt16(name.split(separator: ":").last ?? "0") ?? 0
        Thread.detachNewThread { [self] in serve(behaviour) }
    }

    deinit { csys_close(listener) }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    private func serve(_ behaviour: Behaviour) {
        var hasStalled = false
        var connections: [Int32] = []
        defer { for connection in connections { csys_close(connection) } }
        while !isStopped.load(ordering: .relaxed) {
            var address = csys_address()
            let accepted = csys_accept(listener, &address)
            if accepted >= 0 { connections.append(accepted) }
            var hasRead = false
            for connection in connections {
                var bytes = [UInt8](repeating: 0, count: 4096)
                let count = csys_receive(connection, &bytes, bytes.count)
                // 0 means end of file, EAGAIN no data yet.
                guard count > 0 else { continue }
                hasRead = true
                switch behaviour {
                case .silence: break
                case .hangUp:
                    csys_shutdown_write(connection)
                case .answer(let text): send(text, on: connection)
                case .stall(let milliseconds, let text):
                    if !hasStalled { usleep(milliseconds * 1000) }
                    hasStalled = true
                    send(text, on: connection)
                }
            }
            if !hasRead { usleep(200) }
        }
    }

    private func send(_ text: String, on connection: Int32) {
        let bytes = Array(text.utf8)
        _ = csys_send(connection, bytes, bytes.count)
    }
}
