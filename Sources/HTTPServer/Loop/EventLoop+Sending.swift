import CSystem
import Glibc
import HTTPWire

extension EventLoop {
    /// The size up to which a body is copied after its head; larger bodies are sent from their own memory.
    static let copied = 16 << 10
    /// The approximate size up to which pipelined answers are collected.
    static let batch = 64 << 10

    /// Renders an answer and sends it after all pending bytes. Returns whether the socket took all of them.
    func render(
        _ connection: Connection, _ response: HTTPResponse, requestID: String, plan: AnswerPlan
    ) -> Bool {
        context.counters.answers.add()
        let hasBody = !plan.omitBody && !response.status.forbidsBody && !response.body.isEmpty
        let copies = response.body.count <= Self.copied
        answers.append(response, requestID: requestID, plan: plan, body: hasBody && copies)
        return hasBody && !copies ? send(connection, and: response.body) : send(connection)
    }

    /// Sends the collected answers, if there are any.
    func sendAnswers(_ connection: Connection) {
        guard !answers.bytes.isEmpty else { return }
        if connection.machine.phase == .closed { return answers.clear() }
        if !send(connection) { connection.machine.outputBlocked(policy: context.policy, now: now) }
    }

    /// Sends the rendered bytes, and `body` after them, behind the bytes that the socket has not taken yet. Returns
    /// whether the socket took all of them.
    func send(_ connection: Connection, and body: [UInt8]? = nil) -> Bool {
        defer { answers.clear() }
        if !connection.output.isEmpty {
            connection.output.append(answers.bytes)
            if let body { connection.output.append(body) }
            let isSent = flushOutput(connection)
            if !isSent { hold(connection) }
            return isSent
        }
        let head = answers.bytes.count
        let taken = answers.bytes.withUnsafeBytes { head in
            guard let body else { return csys_send(connection.descriptor, head.baseAddress, head.count) }
            return body.withUnsafeBytes { body in
                csys_send2(connection.descriptor, head.baseAddress, head.count, body.baseAddress, body.count)
            }
        }
        handed(connection, max(0, taken))
        if taken >= head + (body?.count ?? 0) {
            answersLeft(connection)
            return true
        }
        guard taken >= 0 || taken == -Int(EAGAIN) else {
            perform(connection.machine.peerVanished(), on: connection)
            return false
        }
        let sent = max(0, taken)
        if sent < head { connection.output.append(answers.bytes, sent: sent) }
        if let body { connection.output.append(body, sent: max(0, sent - head)) }
        hold(connection)
        return false
    }

    /// Sends pending bytes when the socket accepts bytes again.
    func flush(_ connection: Connection) {
        let before = connection.machine.phase
        let all = flushOutput(connection)
        guard connection.machine.phase == before, before == .answering else { return }
        answered(connection, sent: all)
    }

    func flushOutput(_ connection: Connection) -> Bool {
        let before = connection.output.count
        let result = connection.output.flush { csys_send(connection.descriptor, $0.baseAddress, $0.count) }
        handed(connection, before - connection.output.count)
        eviction.took(connection.descriptor, before - connection.output.count, now: now)
        hold(connection)
        if result == 0 {
            answersLeft(connection)
            return true
        }
        if result != -Int(EAGAIN) { perform(connection.machine.peerVanished(), on: connection) }
        return false
    }
}
