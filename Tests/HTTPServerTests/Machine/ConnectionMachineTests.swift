import HTTPServer
import HTTPWire
import Testing

/// One row: the events, and the expected action and phase after the last one.
struct MachineCase: Sendable, CustomTestStringConvertible {
    let name: String
    let events: [MachineScript.Event]
    let action: ConnectionAction?
    let phase: ConnectionMachine.Phase
    var keepAlive: Bool?

    var testDescription: String { name }

    init(
        _ name: String, _ events: [MachineScript.Event], _ action: ConnectionAction?,
        _ phase: ConnectionMachine.Phase, keepAlive: Bool? = nil
    ) {
        self.name = name
        self.events = events
        self.action = action
        self.phase = phase
        self.keepAlive = keepAlive
    }
}

@Suite("The connection state machine")
struct ConnectionMachineTests {
    static let get = RequestTraits()
    static let post = RequestTraits(bodyLength: 100)
    static let chunked = RequestTraits(bodyLength: nil)
    static let old = RequestTraits(isHTTP10: true, keepAlive: false)
    static let last = RequestTraits(keepAlive: false)
    static let expecting = RequestTraits(expectsContinue: true, bodyLength: 100)
    static let long = RequestTraits(bodyLength: 30_000_000)

    @Test(
        "a half-closed client counts as present where probes are off", arguments: [get, old])
    func halfClosedUnprobed(traits: RequestTraits) {
        var script = MachineScript { $0.probesHalfClosed = false }
        #expect(script.run([.accept(traits), .fin()]) == .init(action: .wait, phase: .handling))
        #expect(script.apply(.answer()).phase == .answering)
    }

    @Test(
        "each sequence of events leads to the action and phase of the table",
        arguments: requests + bodies + answers + ends + times)
    func table(row: MachineCase) {
        var script = MachineScript()
        let outcome = script.run(row.events)
        #expect(outcome.action == row.action)
        #expect(outcome.phase == row.phase)
        if let keepAlive = row.keepAlive { #expect(outcome.plan?.keepAlive == keepAlive) }
        if row.phase == .closed { #expect(script.machine.deadline == nil) }
    }

    static let requests = [
        MachineCase("a new connection is idle", [], nil, .idle),
        MachineCase("the first byte begins a head", [.start], nil, .head),
        MachineCase("a request without body runs at once", [.start, .accept(get)], .dispatch, .handling),
        MachineCase("an empty body is none", [.start, .accept(RequestTraits(bodyLength: 0))], .dispatch, .handling),
        MachineCase("a kept connection is idle again", [.accept(get), .answer(), .sent], .readHead, .idle),
        MachineCase(
            "a second request runs after the first", [.accept(get), .answer(), .sent, .start, .accept(get)],
            .dispatch, .handling),
    ]

    static let bodies = [
        MachineCase("a body is received", [.accept(post)], .readBody(sendContinue: false), .body),
        MachineCase("100 is sent after admission", [.accept(expecting)], .readBody(sendContinue: true), .body),
        MachineCase(
            "100 is not sent when the body has already arrived", [.accept(expecting, buffered: true)],
            .readBody(sendContinue: false), .body),
        MachineCase(
            "100 is not said to HTTP/1.0",
            [.accept(RequestTraits(isHTTP10: true, expectsContinue: true, bodyLength: 100))],
            .readBody(sendContinue: false), .body),
        MachineCase("part of a body waits for more", [.accept(post), .body(99)], .wait, .body),
        MachineCase("the last byte starts the handler", [.accept(post), .body(99), .body(1)], .dispatch, .handling),
        MachineCase(
            "a length over the limit is refused before it is read", [.accept(post, maxBody: 99)],
            .fail(.bodyTooLarge(limit: 99, declared: 100)), .head),
        MachineCase(
            "a length of the limit is taken", [.accept(post, maxBody: 100)], .readBody(sendContinue: false), .body),
        MachineCase("chunks have no end of their own", [.accept(chunked), .body(1000)], .wait, .body),
        MachineCase(
            "the last chunk starts the handler", [.accept(chunked), .body(1000), .bodyEnd], .dispatch, .handling),
        MachineCase(
            "chunks end at the limit", [.accept(chunked), .body(1001)],
            .fail(.bodyTooLarge(limit: 1000, declared: nil)), .body),
        MachineCase(
            "a chunk that would go beyond the limit ends it before its data",
            [.accept(chunked), .body(100, announced: 901)], .fail(.chunkTooLarge(limit: 1000, size: 901)), .body),
        MachineCase(
            "a chunk up to the limit is waited for", [.accept(chunked), .body(100, announced: 900)], .wait, .body),
        MachineCase("the slowest body is given up", [.accept(post), .evict], .fail(.slowestBody), .body),
        MachineCase("so is one that waits", [.accept(post), .noBudget, .evict], .fail(.noBudget), .waiting),
        MachineCase("who is handled is not", [.accept(get), .evict], .wait, .handling),
        MachineCase("no room: nothing is read", [.accept(post), .noBudget], nil, .waiting),
        MachineCase(
            "room again: reading goes on", [.accept(post), .noBudget, .budget], .readBody(sendContinue: false), .body),
        MachineCase("room for one who does not wait changes nothing", [.accept(post), .budget], .wait, .body),
    ]

    static let answers = [
        MachineCase("an answer keeps the connection", [.accept(get), .answer()], nil, .answering, keepAlive: true),
        MachineCase("HTTP/1.0 closes", [.accept(old), .answer()], nil, .answering, keepAlive: false),
        MachineCase(
            "who said close is closed without lingering", [.accept(last), .answer(), .sent], .finish(.finished),
            .closing),
        MachineCase(
            "an application's close lingers", [.accept(get), .answer(close: true), .sent], .linger, .lingering),
        MachineCase("draining closes", [.accept(get), .answer(draining: true)], nil, .answering, keepAlive: false),
        MachineCase(
            "a refused body that is short is skipped", [.start, .refuse(post), .answer(), .sent], .skipBody, .skipping),
        MachineCase(
            "a skipped body brings the next request", [.refuse(post), .answer(), .sent, .discard(60), .discard(40)],
            .readHead, .idle),
        MachineCase(
            "a refused body that is long ends the connection", [.refuse(long), .answer()], nil, .answering,
            keepAlive: false),
        MachineCase("… and lingers", [.refuse(long), .answer(), .sent], .linger, .lingering),
        MachineCase(
            "a refused chunked body is skipped up to its last chunk",
            [.refuse(chunked), .answer(), .sent, .discard(100, ended: true)], .readHead, .idle
        ),
        MachineCase(
            "a refused chunked body is skipped up to a bound",
            [.refuse(chunked), .answer(), .sent, .discard((20 << 20) + 1)], .finish(.finished),
            .closing),
        MachineCase(
            "a refused chunked body is skipped as far as the bound",
            [.refuse(chunked), .answer(), .sent, .discard(20 << 20)], .wait, .skipping),
        MachineCase(
            "a refused body of the bound is skipped",
            [.refuse(RequestTraits(bodyLength: 20 << 20)), .answer(), .sent], .skipBody, .skipping),
        MachineCase(
            "… and one of a byte more is not",
            [.refuse(RequestTraits(bodyLength: 20 << 20 + 1)), .answer(), .sent], .linger, .lingering),
        MachineCase(
            "the bound is that of the request's time",
            [.refuse(post, maxBody: 99), .answer(), .sent], .linger, .lingering),
        MachineCase("a last chunk without a body", [.accept(get), .bodyEnd], .wait, .handling),
        MachineCase(
            "a refused chunked body is skipped", [.refuse(chunked), .answer(), .sent], .skipBody, .skipping),
        MachineCase(
            "a refused expectation ends the connection", [.refuse(expecting), .answer(), .sent], .linger, .lingering),
        MachineCase(
            "… but not where the body has begun", [.refuse(expecting, buffered: true), .answer(), .sent], .skipBody,
            .skipping),
        MachineCase(
            "… and that is forgotten with the next request",
            [.refuse(expecting, buffered: true), .answer(), .sent, .discard(100), .refuse(expecting), .answer()], nil,
            .answering, keepAlive: false),
        MachineCase("a fault ends the connection", [.start, .answerFault], nil, .answering, keepAlive: false),
        MachineCase("a fault's answer is left time to be read", [.start, .answerFault, .sent], .linger, .lingering),
        MachineCase("a blocked answer waits", [.accept(get), .answer(), .blocked], nil, .answering),
        MachineCase(
            "answers that were put together stop the reading", [.refuse(get), .answer(), .sent, .blocked], nil,
            .answering),
        MachineCase("… until they are sent", [.refuse(get), .answer(), .sent, .blocked, .sent], .readHead, .idle),
        MachineCase("a blocked socket does not disturb a handler", [.accept(get), .blocked], nil, .handling),
        MachineCase(
            "lingering has a bound in bytes", [.start, .answerFault, .sent, .discard(1 << 40)], .finish(.finished),
            .closing),
    ]

    static let ends = [
        MachineCase("FIN ends an idle connection", [.fin()], .finish(.finished), .closing),
        MachineCase("FIN behind unread requests does not", [.fin(unread: true)], .wait, .idle),
        MachineCase("FIN in a head is answered", [.start, .fin()], .fail(.headTruncated), .head),
        MachineCase("FIN in a body is answered", [.accept(post), .body(50), .fin()], .fail(.bodyTruncated), .body),
        MachineCase(
            "… and closed after that", [.accept(post), .fin(), .answerFault, .sent], .finish(.finished), .closing),
        MachineCase("FIN while a request runs is probed", [.accept(get), .fin()], .probe, .handling),
        MachineCase("a second sign of it is not", [.accept(get), .fin(), .fin()], .wait, .handling),
        MachineCase(
            "a half-closed client is answered", [.accept(get), .fin(), .answer()], nil, .answering, keepAlive: true),
        MachineCase(
            "… and its end seen after that", [.accept(get), .fin(), .answer(), .sent, .fin()], .finish(.finished),
            .closing),
        MachineCase("FIN of HTTP/1.0 is its end", [.accept(old), .fin()], .close(.clientGone), .closed),
        MachineCase("RST while a request runs", [.accept(get), .reset], .close(.clientGone), .closed),
        MachineCase("RST in a body", [.accept(post), .reset], .close(.clientGone), .closed),
        MachineCase("RST in an answer", [.accept(get), .answer(), .blocked, .reset], .close(.clientGone), .closed),
        MachineCase(
            "RST while the client takes the last answer ends it", [.fin(), .reset], .close(.finished), .closed),
        MachineCase(
            "FIN while the client takes the last answer does not", [.pass(10), .timer, .fin()], .wait, .closing),
        MachineCase("RST between requests loses nothing", [.reset], .close(.finished), .closed),
        MachineCase(
            "RST while lingering loses nothing", [.start, .answerFault, .sent, .reset], .close(.finished), .closed),
        MachineCase("FIN ends lingering", [.start, .answerFault, .sent, .fin()], .finish(.finished), .closing),
        MachineCase(
            "FIN behind a refused body's answer: nothing is left to be passed over",
            [.refuse(post), .answer(), .fin(), .sent], .finish(.finished), .closing),
        MachineCase(
            "FIN in a refused body ends it", [.refuse(post), .answer(), .sent, .fin()], .finish(.finished), .closing),
        MachineCase(
            "FIN of one who waits for room is answered when there is some",
            [.accept(post), .noBudget, .fin()], .wait, .waiting),
        MachineCase("a closed connection stays so", [.reset, .reset], .wait, .closed),
        MachineCase("draining closes what is idle", [.drain], .close(.drained), .closed),
        MachineCase(
            "draining waits a moment after an answer",
            [.accept(get), .answer(close: false, draining: false), .sent, .drain], .wait, .idle),
        MachineCase(
            "and closes then", [.accept(get), .answer(close: false, draining: false), .sent, .drain, .pass(1), .timer],
            .finish(.drained), .closing),
        MachineCase(
            "draining closes what was answered long ago",
            [.accept(get), .answer(close: false, draining: false), .sent, .pass(1), .drain],
            .close(.drained), .closed),
        MachineCase("draining leaves a head", [.start, .drain], .wait, .head),
        MachineCase("draining leaves a running request", [.accept(get), .drain], .wait, .handling),
    ]

    static let times = [
        MachineCase("nothing fires early", [.pass(9), .timer], .wait, .idle),
        MachineCase("a connection that says nothing is closed", [.pass(10), .timer], .finish(.idle), .closing),
        MachineCase("a slow head is answered", [.start, .pass(10), .timer], .fail(.slowHead), .head),
        MachineCase(
            "the first head's time began with the connection", [.pass(5), .start, .pass(5), .timer], .fail(.slowHead),
            .head),
        MachineCase(
            "a later head has its own time",
            [.accept(get), .answer(), .sent, .pass(70), .start, .pass(9), .timer], .wait, .head),
        MachineCase(
            "a kept connection has 75 seconds", [.accept(get), .answer(), .sent, .pass(74), .timer], .wait, .idle),
        MachineCase(
            "… and no more", [.accept(get), .answer(), .sent, .pass(75), .timer], .finish(.idle), .closing),
        MachineCase(
            "a stalled body is answered", [.accept(long, maxBody: 1 << 30), .pass(10), .timer], .fail(.slowBody), .body),
        MachineCase(
            "a body at the minimum rate goes on",
            [.accept(long, maxBody: 1 << 30), .body(10_240), .pass(10), .timer], .wait, .body),
        MachineCase(
            "speed at the beginning earns no rest later",
            [.accept(long, maxBody: 1 << 30), .body(500_000), .pass(10), .timer, .body(10_239), .pass(10), .timer],
            .fail(.slowBody), .body),
        MachineCase(
            "a pause of the server's does not count",
            [.accept(long, maxBody: 1 << 30), .noBudget, .pass(20), .budget, .pass(9), .timer], .wait, .body),
        MachineCase(
            "a body waits for room only so long",
            [.accept(post), .noBudget, .pass(30), .timer], .fail(.noBudget), .waiting),
        MachineCase(
            "a body that is asked in vain waits no longer than others",
            [.accept(post), .noBudget, .pass(20), .budget, .noBudget, .pass(10), .timer], .fail(.noBudget), .waiting),
        MachineCase(
            "a body that has found some room may wait again",
            [.accept(post), .noBudget, .pass(20), .budget, .body(1), .noBudget, .pass(29), .timer], .wait, .waiting),
        MachineCase(
            "a body has only so much time, however steadily it comes",
            [.accept(long, maxBody: 1 << 30)] + (0..<12).flatMap { _ in [.body(20_000), .pass(10), .timer] },
            .fail(.lateBody), .body),
        MachineCase(
            "waits for room are not counted in it",
            [.accept(long, maxBody: 1 << 30)]
                + (0..<11).flatMap { _ in [.body(20_000), .pass(10), .timer] }
                + [.noBudget, .pass(20), .budget, .body(20_000), .pass(9), .timer], .wait, .body),
        MachineCase("a handler has all the time it wants", [.accept(get), .pass(3600), .timer], .wait, .handling),
        MachineCase(
            "a half-closed client is probed once", [.accept(get), .fin(), .pass(3600), .timer], .wait, .handling),
        MachineCase(
            "an answer not taken ends", [.accept(get), .answer(), .pass(30), .timer], .close(.slowReader), .closed),
        MachineCase(
            "an answer that is being taken goes on",
            [.accept(get), .answer(), .pass(29), .blocked, .pass(29), .timer], .wait, .answering),
        MachineCase(
            "lingering ends after silence", [.start, .answerFault, .sent, .pass(5), .timer], .finish(.finished),
            .closing),
        MachineCase(
            "lingering goes on with bytes",
            [.start, .answerFault, .sent, .pass(4), .discard(1), .pass(4), .timer], .wait, .lingering),
        MachineCase(
            "a skipped body at the minimum rate goes on",
            [.refuse(RequestTraits(bodyLength: 1_000_000)), .answer(), .sent, .discard(10_240), .pass(10), .timer],
            .wait, .skipping),
        MachineCase(
            "a skipped body has only so much time, however steadily it comes",
            [.refuse(RequestTraits(bodyLength: 10_000_000)), .answer(), .sent]
                + (0..<12).flatMap { _ in [.discard(20_000), .pass(10), .timer] },
            .finish(.finished), .closing),
        MachineCase(
            "a half-closed client is not probed before its time", [.accept(get), .pass(5), .fin(), .timer], .wait,
            .handling),
        MachineCase(
            "a slow skipped body is closed",
            [.refuse(post), .answer(), .sent, .pass(10), .timer], .finish(.finished), .closing),
    ]

    @Test("lingering ends at its time limit, however many bytes arrive")
    func lingerTotal() {
        var script = MachineScript()
        _ = script.run([.start, .answerFault, .sent])
        for _ in 0..<7 { _ = script.run([.pass(4), .discard(1)]) }
        #expect(script.run([.pass(2), .timer]).action == .finish(.finished))
    }

    @Test("the missing bytes of a body are reported, and the count restarts for the next body")
    func remaining() {
        var script = MachineScript()
        _ = script.run([.accept(Self.post), .body(40)])
        #expect(script.machine.bodyRemaining == 60 && script.machine.bodyBytes == 40)
        _ = script.run([.body(60), .answer(), .sent, .accept(Self.post)])
        #expect(script.machine.bodyRemaining == 100 && script.machine.answeredRequests == 1)
        _ = script.run([.body(100), .answer(), .sent, .accept(Self.chunked), .body(7)])
        #expect(script.machine.bodyRemaining == nil)
    }

    @Test("durations and limits of the configuration are kept within their bounds")
    func durations() {
        #expect(nanoseconds(.milliseconds(1500)) == 1_500_000_000)
        #expect(nanoseconds(.milliseconds(-1)) == 0)
        #expect(nanoseconds(.seconds(Int64.max)) == UInt64(1 << 32) * 1_000_000_000)
        var configuration = HTTPServerConfiguration()
        configuration.minBodyRate = 1000
        configuration.bodyGrace = .milliseconds(2500)
        configuration.maxRequestsPerConnection = 0
        configuration.lingerBytes = -1
        let policy = ConnectionPolicy(configuration)
        #expect(policy.bodyBytesPerGrace == 2500 && policy.maxRequests == 1 && policy.lingerBytes == 0)
        configuration.minBodyRate = .max
        #expect(ConnectionPolicy(configuration).bodyBytesPerGrace == .max)
    }

    @Test(
        "each connection fault has its status and label and is a timeout or not",
        arguments: [
            (ConnectionFault.slowHead, 408, "slow_head", true), (.slowBody, 408, "slow_body", true),
            (.lateBody, 408, "late_body", true), (.slowestBody, 408, "slowest_body", true),
            (.noBudget, 503, "no_budget", true), (.noPlace, 503, "no_place", true),
            (.bodyTooLarge(limit: 9, declared: 10), 413, "body_too_large", false),
            (.bodyTooLarge(limit: 9, declared: nil), 413, "body_too_large", false),
            (.chunkTooLarge(limit: 9, size: 10), 413, "body_too_large", false),
            (.headTruncated, 400, "head_truncated", false), (.bodyTruncated, 400, "body_truncated", false),
        ])
    func faults(fault: ConnectionFault, status: Int, label: String, isTimeout: Bool) {
        #expect(fault.error.status.code == status && fault.error.label == label && fault.isTimeout == isTimeout)
        if status == 413 { #expect(fault.error.message.contains("the limit of 9 bytes")) }
    }

    @Test("a connection closes after its last allowed request")
    func requestsPerConnection() {
        var script = MachineScript { $0.maxRequestsPerConnection = 2 }
        #expect(script.run([.accept(Self.get), .answer()]).plan?.keepAlive == true)
        #expect(script.run([.sent, .start, .accept(Self.get), .answer()]).plan?.keepAlive == false)
        #expect(script.run([.sent]).action == .linger)
    }

    @Test("the body is omitted for HEAD, including a refusal, but not for a fault in the next head")
    func head() {
        var script = MachineScript()
        #expect(script.run([.refuse(RequestTraits(isHead: true)), .answer()]).plan?.omitBody == true)
        #expect(script.run([.sent, .start, .answerFault]).plan?.omitBody == false)
        var other = MachineScript()
        #expect(other.run([.start, .headFault(isHead: true), .answerFault]).plan?.omitBody == true)
        var long = MachineScript()
        let head = RequestTraits(isHead: true, bodyLength: 2000)
        #expect(long.run([.accept(head), .headFault(isHead: false), .answerFault]).plan?.omitBody == true)
    }

    @Test("Connection: keep-alive is sent to HTTP/1.0 clients only")
    func sendsKeepAlive() {
        var script = MachineScript()
        let kept = RequestTraits(isHTTP10: true, keepAlive: true)
        #expect(script.run([.accept(kept), .answer()]).plan?.sendsKeepAlive == true)
        #expect(script.run([.sent, .accept(Self.get), .answer()]).plan?.sendsKeepAlive == false)
    }
}
