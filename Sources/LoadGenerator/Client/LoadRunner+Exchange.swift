internal import CSystem
internal import Glibc
internal import SystemSupport

extension LoadRunner {
    /// Sends and receives as far as possible without blocking.
    func advance(_ connection: ClientConnection) {
        if connection.phase == .sending { send(connection) }
        // An answer, such as an error, may arrive before the request is sent completely.
        receive(connection)
    }

    /// Passes as much of the request to the kernel as it accepts. Errors are not handled here: an answer that the
    /// server sent before it closed the connection is read first.
    func send(_ connection: ClientConnection) {
        guard var request = connection.request else { return }
        let bytes = requests[request.picture].bytes
        while request.sent < bytes.count {
            let count = bytes.withUnsafeBytes { raw -> Int in
                guard let base = raw.baseAddress else { return 0 }
                return csys_send(connection.descriptor, base + request.sent, raw.count - request.sent)
            }
            guard count > 0 else { break }
            request.sent += count
        }
        connection.request = request
        if request.sent == bytes.count { connection.phase = .receiving }
    }

    private func receive(_ connection: ClientConnection) {
        while connection.request != nil {
            let count = csys_receive(connection.descriptor, buffer.baseAddress, buffer.count)
            if count == -Int(EAGAIN) { return }
            guard count > 0 else {
                let reason =
                    count == 0 ? "the server closed the connection" : SystemError.words(Int32(clamping: -count))
                return fail(connection, .closed, "incomplete answer: \(reason)")
            }
            let answer: ResponseParser.Answer?
            do throws(LoadError) {
                answer = try connection.parser.take(UnsafeRawBufferPointer(rebasing: buffer[..<Int(count)]))
            } catch {
                return fail(connection, .malformed, error.description)
            }
            if let answer { return answered(connection, answer) }
        }
    }

    private func answered(_ connection: ClientConnection, _ answer: ResponseParser.Answer) {
        guard let request = connection.request else { return }
        let now = csys_monotonic()
        let isSuccess = (200..<300).contains(answer.status)
        if isSuccess, now >= measureFrom, now < end { result.successesInTime += 1 }
        if request.isMeasured {
            result.statuses[answer.status, default: 0] += 1
            if isSuccess {
                result.latency.record(now &- request.due)
                result.service.record(now &- request.sentAt)
            } else if result.firstTrouble == nil {
                let text = String(decoding: answer.excerpt, as: UTF8.self)
                result.firstTrouble = "\(answer.status) \(text.filter { !$0.isNewline })"
            }
        }
        let wasSent = connection.phase == .receiving
        connection.request = nil
        busyCount -= 1
        // After an error that arrived before the request was sent completely, the connection cannot be reused.
        guard answer.keepAlive, plan.keepAlive, wasSent else { return close(connection) }
        connection.phase = .idle
        idle.append(connection)
    }

    /// Records that the request of a connection has no answer, and closes the connection.
    func fail(_ connection: ClientConnection, _ failure: StepResult.Failure, _ reason: String) {
        if let request = connection.request {
            note(failure, reason, isMeasured: request.isMeasured)
            // Abandoned requests count with the time until then, the minimum of their latency. Requests that were
            // refused at once say nothing about latency.
            if request.isMeasured, failure == .timeout || failure == .unanswered {
                result.latency.record(csys_monotonic() &- request.due)
            }
            connection.request = nil
            busyCount -= 1
        }
        idle.removeAll { $0 === connection }
        close(connection)
    }

    func note(_ failure: StepResult.Failure, _ reason: String, isMeasured: Bool) {
        guard isMeasured else { return }
        result.failures[failure, default: 0] += 1
        if result.firstTrouble == nil { result.firstTrouble = reason }
    }

    func close(_ connection: ClientConnection) {
        guard connections[Int(connection.descriptor)] === connection else { return }
        connections[Int(connection.descriptor)] = nil
        csys_close(connection.descriptor)
        openCount -= 1
    }
}
