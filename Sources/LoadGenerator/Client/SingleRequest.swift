internal import CSystem
internal import Glibc
internal import SystemSupport

/// A single GET, as a probe sends it.
package enum SingleRequest {
    /// The answer: the status and, unless the status is a success, the beginning of the body.
    package struct Answer: Sendable {
        package let status: Int
        package let excerpt: String
    }

    /// Sends the request and waits for the answer. Blocks.
    /// - Parameter milliseconds: the timeout for connecting, sending and receiving together, without name resolution.
    /// - Throws: the reason why there is no answer.
    package static func get(_ target: LoadTarget, milliseconds: Int) throws(LoadError) -> Answer {
        let address = try ServerAddress(of: target)
        let descriptor = address.connect()
        guard descriptor >= 0 else { throw failure(target, -descriptor) }
        defer { _ = csys_close(descriptor) }
        let end = MonotonicInstant.now + .milliseconds(milliseconds)
        try wait(descriptor, POLLOUT, until: end, target)
        let error = csys_socket_error(descriptor)
        guard error == 0 else { throw failure(target, -error) }
        let head = "GET \(target.path) HTTP/1.1\r\nHost: \(target.authority)\r\nConnection: close\r\n\r\n"
        let bytes = Array(head.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                csys_send(descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent)
            }
            if count > 0 {
                sent += count
            } else if count == -Int(EAGAIN) {
                try wait(descriptor, POLLOUT, until: end, target)
            } else {
                throw failure(target, Int32(clamping: -count))
            }
        }
        var parser = ResponseParser()
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = csys_receive(descriptor, &buffer, buffer.count)
            if count == -Int(EAGAIN) {
                try wait(descriptor, POLLIN, until: end, target)
                continue
            }
            guard count > 0 else {
                if count < 0 { throw failure(target, Int32(clamping: -count)) }
                throw LoadError("\(target.description) closed the connection without an answer")
            }
            if let answer = try take(buffer, count, into: &parser) {
                return Answer(status: answer.status, excerpt: String(decoding: answer.excerpt, as: UTF8.self))
            }
        }
    }

    private static func take(
        _ buffer: [UInt8], _ count: Int, into parser: inout ResponseParser
    ) throws(LoadError) -> ResponseParser.Answer? {
        let result = buffer.withUnsafeBytes { bytes -> Result<ResponseParser.Answer?, LoadError> in
            Result { () throws(LoadError) in try parser.take(UnsafeRawBufferPointer(rebasing: bytes[..<count])) }
        }
        return try result.get()
    }

    private static func wait(
        _ descriptor: Int32, _ events: Int32, until end: MonotonicInstant, _ target: LoadTarget
    ) throws(LoadError) {
        var wanted = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        while true {
            let left = end.nanoseconds(since: .now) / 1_000_000
            guard left > 0 else { throw LoadError("\(target.description) did not answer in time") }
            let count = poll(&wanted, 1, Int32(clamping: left))
            if count > 0 { return }
            if count < 0, errno != EINTR { throw failure(target, errno) }
        }
    }

    private static func failure(_ target: LoadTarget, _ error: Int32) -> LoadError {
        LoadError("\(target.description) cannot be reached: \(SystemError.words(error))")
    }
}
