import CSystem
import HTTPWire
import SystemSupport

extension EventLoop {
    // MARK: From head to handler

    /// Handles a complete head of `size` bytes. `buffered`: the number of bytes after it in the buffer.
    func begin(_ connection: Connection, _ head: RequestHead, size: Int, buffered: Int) {
        context.counters.requests.add()
        let requestID = identifier(head)
        let firstByte = connection.firstByte
        connection.firstByte = 0
        let traits = RequestTraits(head)
        let client = client(of: head, connection)
        let source = RequestSource(
            remote: connection.remote, isProxied: connection.isProxied, client: client, listener: connection.listener)
        switch context.responder.admit(head, requestID: requestID, from: source) {
        case .answer(let response):
            connection.machine.headRefused(
                traits, maxBody: UInt64(clamping: context.budget.limits.largest), buffered: buffered > 0)
            connection.skipped =
                head.framing == .chunked ? ChunkedDecoder(limits: context.configuration.wireLimits) : nil
            answerAtOnce(connection, response, head, requestID, firstByte: firstByte, more: buffered > 0)
        case .accept(let maxBytes, let handler):
            let decoder = head.framing == .chunked ? ChunkedDecoder(limits: context.configuration.wireLimits) : nil
            let limits = context.budget.limits
            let maxBody = max(0, min(maxBytes, limits.largest, limits.total))
            let longest = min(Int(clamping: traits.bodyLength ?? .max), maxBody)
            let body =
                traits.bodyLength == 0 ? HTTPBody.empty : HTTPBody(budget: context.budget, longest: longest)
            connection.exchange = Exchange(
                head: head, headBytes: size, requestID: requestID, client: client, body: body,
                decoder: decoder, firstByte: firstByte, handler: handler)
            let action = connection.machine.headAccepted(
                traits, maxBody: UInt64(maxBody), buffered: buffered > 0, policy: context.policy, now: now)
            perform(action, on: connection)
        }
    }

    /// The sender of a request.
    private func client(of head: RequestHead, _ connection: Connection) -> String {
        let trusted = context.configuration.trustedProxies
        return trusted.isEmpty ? connection.client : trusted.client(of: head, peer: connection.client)
    }

    private func identifier(_ head: RequestHead) -> String {
        if let given = head.value(of: "x-request-id"), RequestIdentifier.isUsable(given) { return given }
        return identifiers.next()
    }

    /// The identifier of a request whose head is refused, from the bytes received.
    private func identifier(ofRefused head: UnsafeRawBufferPointer) -> String {
        if let given = RefusedHead.value(of: "x-request-id", in: head), RequestIdentifier.isUsable(given) {
            return given
        }
        return identifiers.next()
    }

    /// The request is complete: starts its handler in a task.
    private func startHandler(_ connection: Connection) {
        guard var exchange = connection.exchange, let handler = exchange.handler else { return }
        exchange.handler = nil
        exchange.bodyEnd = csys_monotonic()
        exchange.bodyBytes = exchange.body.count
        exchange.body.complete()
        let request = HTTPRequest(
            head: exchange.head, body: exchange.body, requestID: exchange.requestID, remote: connection.remote,
            headReceived: MonotonicInstant(nanoseconds: exchange.firstByte),
            bodyReceived: MonotonicInstant(nanoseconds: exchange.bodyEnd))
        // From here on the handler owns the body: its memory is freed as soon as the handler releases it.
        exchange.body = .empty
        exchange.decoder = nil
        connection.exchange = exchange
        context.counters.running.add()
        let mailbox = context.mailbox
        let (descriptor, registration) = (connection.descriptor, connection.registration)
        connection.task = Task {
            let response = await handler(request)
            mailbox.post(
                .completed(descriptor: descriptor, registration: registration, response, at: csys_monotonic()))
        }
    }

    // MARK: Answers

    /// Sends the answer of a handler, which was ready at the time `ready`.
    func handlerEnded(_ connection: Connection, _ response: HTTPResponse, at ready: UInt64) {
        guard connection.machine.phase == .handling, let exchange = connection.exchange else { return }
        connection.task = nil
        connection.exchange = nil
        context.counters.running.add(-1)
        let plan = connection.machine.answered(
            wantsClose: response.closeConnection, fault: false, draining: closesAfterAnswer(connection),
            policy: context.policy, now: now)
        record(
            connection, exchange.head, response, plan, requestID: exchange.requestID, received: exchange.bodyBytes,
            firstByte: exchange.firstByte, bodyEnd: exchange.bodyEnd, ready: ready, outcome: .answered)
        let sent = render(connection, response, requestID: exchange.requestID, plan: plan)
        answered(connection, sent: sent)
        advance(connection)
        synchronize(connection)
    }

    /// Sends the application's immediate answer to a head. Pipelined answers are collected and sent together.
    private func answerAtOnce(
        _ connection: Connection, _ response: HTTPResponse, _ head: RequestHead, _ requestID: String,
        firstByte: UInt64, more: Bool
    ) {
        let plan = connection.machine.answered(
            wantsClose: response.closeConnection, fault: false, draining: closesAfterAnswer(connection),
            policy: context.policy, now: now)
        if context.observer != nil {
            record(
                connection, head, response, plan, requestID: requestID, firstByte: firstByte, bodyEnd: now, ready: now,
                outcome: .answered)
        }
        if more, plan.keepAlive, connection.output.isEmpty, response.body.count <= Self.copied,
            answers.bytes.count < Self.batch, connection.machine.bodyRemaining == 0
        {
            let body = !plan.omitBody && !response.status.forbidsBody
            answers.append(response, requestID: requestID, plan: plan, body: body)
            context.counters.answers.add()
            perform(connection.machine.answerSent(policy: context.policy, now: now), on: connection)
            return
        }
        answered(connection, sent: render(connection, response, requestID: requestID, plan: plan))
    }

    /// Answers a client's fault. Later bytes of the connection are not parsed.
    /// - Parameter head: the received bytes of the head, if it is at fault; nil for the bytes that the connection
    ///   keeps.
    func answerFault(
        _ connection: Connection, _ error: WireError, isTimeout: Bool = false, head: UnsafeRawBufferPointer? = nil
    ) {
        let exchange = connection.exchange
        connection.machine.headFailed(isHead: connection.parser?.isHead ?? connection.isHeadRequest)
        connection.exchange = nil
        connection.parser = nil
        let requestID =
            exchange?.requestID ?? head.map(identifier(ofRefused:))
            ?? connection.leftover.withUnsafeBytes(identifier(ofRefused:))
        let response = context.responder.errorResponse(error, requestID: requestID)
        countFault(error.label, isTimeout: isTimeout)
        let plan = connection.machine.answered(
            wantsClose: true, fault: true, draining: true, policy: context.policy, now: now)
        record(
            connection, exchange?.head, response, plan, requestID: requestID, received: exchange?.body.count ?? 0,
            firstByte: exchange?.firstByte ?? connection.firstByte, bodyEnd: 0, ready: now,
            outcome: isTimeout ? .timedOut(error.label) : .protocolError(error.label))
        connection.firstByte = 0
        answered(connection, sent: render(connection, response, requestID: requestID, plan: plan))
    }

    /// Closes a connection that does not begin with the expected PROXY header. It gets no answer, because a client that
    /// does not send the header may not use HTTP either.
    func refuseProxyHeader(_ connection: Connection) {
        let label = "proxy_header", never = MonotonicInstant(nanoseconds: 0)
        countFault(label, isTimeout: false)
        context.observer?.exchangeEnded(
            ExchangeRecord(
                requestID: identifiers.next(), remote: connection.remote, client: connection.client, method: nil,
                head: nil, status: nil, tag: "", bodyBytesReceived: 0, bodyBytesSent: 0,
                firstByte: MonotonicInstant(nanoseconds: now), bodyEnd: never, responseReady: never,
                end: MonotonicInstant(nanoseconds: now), outcome: .protocolError(label)))
        connection.leftover = []
        connection.leftoverIsNew = false
        perform(connection.machine.close(.finished), on: connection)
    }

    private func countFault(_ label: String, isTimeout: Bool) {
        if isTimeout {
            context.counters.timeouts.withLock { $0[label, default: 0] += 1 }
        } else {
            context.counters.protocolErrors.withLock { $0[label, default: 0] += 1 }
        }
    }

    /// True if every answer has `Connection: close`.
    private func closesAfterAnswer(_ connection: Connection) -> Bool {
        shutdown.isDraining || context.lameDuck.isSet || places.reserved.contains(connection.descriptor)
    }

    /// Continues after an answer was rendered. `sent`: the socket took all of it.
    func answered(_ connection: Connection, sent: Bool) {
        places.answered(connection.descriptor)
        guard connection.machine.phase == .answering else { return }
        if sent {
            perform(connection.machine.answerSent(policy: context.policy, now: now), on: connection)
        } else {
            connection.machine.outputBlocked(policy: context.policy, now: now)
        }
    }

    // MARK: Actions

    /// Performs an action of the state machine.
    func perform(_ action: ConnectionAction, on connection: Connection) {
        switch action {
        case .wait, .readHead, .readBody(sendContinue: false), .skipBody: break  // `advance` acts on the phase
        case .readBody(sendContinue: true):
            answers.appendInterim(.continue)
            _ = send(connection)
        case .dispatch: startHandler(connection)
        case .fail(let fault): answerFault(connection, fault.error, isTimeout: fault.isTimeout)
        case .probe:
            // One probe in the socket's buffer is enough to get RST.
            guard connection.output.isEmpty else { return }
            answers.appendInterim(.processing)
            _ = send(connection)
        case .linger:
            connection.leftover = []
            connection.leftoverIsNew = false
            csys_shutdown_write(connection.descriptor)
            connection.readable = true
        case .finish(let ending): finish(connection, ending)
        case .close(let ending): close(connection, ending)
        }
    }

    // MARK: Records

    private func record(
        _ connection: Connection, _ head: RequestHead?, _ response: HTTPResponse, _ plan: AnswerPlan,
        requestID: String, received: Int = 0, firstByte: UInt64, bodyEnd: UInt64, ready: UInt64,
        outcome: ExchangeRecord.Outcome
    ) {
        guard context.observer != nil else { return }
        connection.ending.append(
            ExchangeRecord(
                requestID: requestID, remote: connection.remote,
                client: head.map { client(of: $0, connection) } ?? connection.client, method: head?.method,
                head: head, status: response.status, tag: response.tag,
                note: response.note,
                bodyBytesReceived: received, bodyBytesSent: plan.omitBody ? 0 : response.body.count,
                firstByte: MonotonicInstant(nanoseconds: firstByte), bodyEnd: MonotonicInstant(nanoseconds: bodyEnd),
                responseReady: MonotonicInstant(nanoseconds: ready), end: MonotonicInstant(nanoseconds: 0),
                outcome: outcome))
    }

    /// Reports the answers whose bytes have all been given to the socket.
    func answersLeft(_ connection: Connection) {
        guard !connection.ending.isEmpty, let observer = context.observer else { return }
        let end = MonotonicInstant(nanoseconds: csys_monotonic())
        for var record in connection.ending {
            record.end = end
            observer.exchangeEnded(record)
        }
        connection.ending.removeAll(keepingCapacity: connection.ending.capacity <= 4)
    }
}
