internal import CSystem
public import Foundation

extension RawClient {
    /// An answer.
    public struct Response {
        /// Its status.
        public var status: Int
        /// Its fields, by names in lower case.
        public var fields: [String: String]
        /// Its content.
        public var body: [UInt8]
        /// The content as text.
        public var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// The received bytes that were not read yet.
    public var received: String { String(decoding: bytes, as: UTF8.self) }

    /// Receives more; returns false at the end.
    public func receiveMore() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = csys_receive(descriptor, &buffer, buffer.count)
        if count == -Int(EAGAIN) { throw Failure.timedOut }
        guard count >= 0 else { throw Failure.system("recv", Int32(-count)) }
        bytes.append(contentsOf: buffer[..<count])
        return count > 0
    }

    /// Reads everything up to the server's end of the connection.
    public func rest() throws -> String {
        while try receiveMore() {}
        defer { bytes = [] }
        return received
    }

    /// True if the server ends the connection, by FIN or RST, without another byte.
    public func isEnded() -> Bool {
        do { return try !receiveMore() && bytes.isEmpty } catch Failure.timedOut { return false } catch {
            return true
        }
    }

    /// Reads the next response, including interim ones.
    /// - Parameter toHead: true for an answer to HEAD, which has no body.
    public func response(toHead: Bool = false) throws -> Response {
        let end = try receive(until: Array("\r\n\r\n".utf8))
        let head = String(decoding: bytes[..<end], as: UTF8.self)
        bytes.removeFirst(end)
        let lines = head.components(separatedBy: "\r\n").filter { !$0.isEmpty }
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { throw Failure.malformed(line) }
            fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, let status = Int(words[1]) else { throw Failure.malformed(head) }
        let length = status < 200 || toHead ? 0 : Int(fields["content-length"] ?? "") ?? 0
        while bytes.count < length {
            guard try receiveMore() else { throw Failure.closed(received) }
        }
        defer { bytes.removeFirst(length) }
        return Response(status: status, fields: fields, body: Array(bytes[..<length]))
    }

    private func receive(until end: [UInt8]) throws -> Int {
        var from = 0
        while true {
            if bytes.count >= end.count {
                for start in from...(bytes.count - end.count) where bytes[start] == end[0] {
                    if Array(bytes[start..<start + end.count]) == end { return start + end.count }
                }
                from = bytes.count - end.count + 1
            }
            guard try receiveMore() else { throw Failure.closed(received) }
        }
    }

    // MARK: With a time limit

    /// Reads until the received bytes meet a condition, the server ends the connection, or the time is over.
    /// - Returns: the received bytes, which stay in ``received``.
    @discardableResult
    public func receive(
        seconds: Double = 3, until isEnough: (String) -> Bool = { $0.contains("\r\n\r\n") }
    ) -> String {
        _ = look(seconds: seconds, until: isEnough)
        return received
    }

    /// Waits, for a limited time, until the server ends the connection.
    public func waitForEnd(seconds: Double = 3) -> Bool { look(seconds: seconds) { _ in false } }

    /// - Returns: whether the server has ended the connection, by FIN or RST.
    private func look(seconds: Double, until isEnough: (String) -> Bool) -> Bool {
        let end = Date().addingTimeInterval(seconds)
        while !isEnough(received) {
            let rest = end.timeIntervalSinceNow
            var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard rest > 0, poll(&wait, 1, Int32(rest * 1000) + 1) == 1 else { return false }
            do {
                guard try receiveMore() else { return true }
            } catch {
                return true
            }
        }
        return false
    }
}
