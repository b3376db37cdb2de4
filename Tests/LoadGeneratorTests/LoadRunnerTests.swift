import LoadGenerator
import TestSupport
import Testing

/// The generator with misbehaving servers.
@Suite(.serialized) struct LoadRunnerTests {
    private static let fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private func run(_ plan: LoadPlan, _ behaviour: ScriptedServer.Behaviour) async throws -> StepResult {
        let server = try ScriptedServer(behaviour)
        defer { server.stop() }
        let target = try LoadTarget(parsing: "http://127.0.0.1:\(server.port)/x")
        let request = RequestBytes(target: target, body: nil, keepAlive: plan.keepAlive)
        return try await LoadThread.run(plan, to: try ServerAddress(of: target), requests: [request])
    }

    private func plan(
        _ loop: LoadPlan.Loop, connections: Int = 4, seconds: Double = 0.3, timeout: Double = 5, keepAlive: Bool = true
    ) -> LoadPlan {
        LoadPlan(
            loop: loop, connections: connections, seconds: seconds, warmUp: 0, timeout: timeout, keepAlive: keepAlive)
    }

    @Test("an open loop sends and counts every due request once")
    func everyRequestThatIsDueIsSentAndCountedOnce() async throws {
        let result = try await run(plan(.open(rate: 200)), .answer(Self.fine))
        #expect(result.due == 60 && result.sent == 60)
        #expect(result.statuses == [200: 60] && result.failures == [:])
        #expect(result.latency.count == 60 && result.service.count == 60)
    }

    @Test("a closed loop keeps its connections open and opens no more")
    func aClosedLoopKeepsItsConnectionsAndNoMore() async throws {
        let result = try await run(plan(.closed, connections: 3), .answer(Self.fine))
        #expect(result.opened == 3 && result.peakConnections == 3)
        #expect(result.successes == result.sent && result.due == result.sent && result.sent > 3)
        // Requests in sequence on 3 connections: Little's law, with a margin for the ends.
        #expect(result.latency.mean * Double(result.successes) <= 3.3 * 1e9 * (result.measuredSeconds + 1))
    }

    @Test("without keep-alive every request has a new connection")
    func connectionsAreNewWhereTheyAreNotToBeKept() async throws {
        let result = try await run(plan(.open(rate: 100), keepAlive: false), .answer(Self.fine))
        #expect(result.successes == 30 && result.opened == 30)
    }

    @Test("a server that stalls adds latency to all requests that were due meanwhile")
    func whatStandsStillMakesAllLateThatWereDue() async throws {
        // One connection, 100 requests per second, and the first answer only after 300 ms: thirty requests are due
        // meanwhile.
        let result = try await run(
            plan(.open(rate: 100), connections: 1, seconds: 0.6), .stall(milliseconds: 300, answer: Self.fine))
        #expect(result.latency.count == 60)
        #expect(result.waitedForConnection >= 20)
        // From their due times, more than a tenth waited for over 100 ms; from sending, only one did.
        #expect(result.latency.percentile(85) > 100_000_000)
        #expect(result.service.greatest >= 300_000_000)
    }

    @Test("a request without an answer in time counts as a failure and a long latency")
    func noAnswerInTimeIsAFailureAndALongLatency() async throws {
        let result = try await run(plan(.open(rate: 20), timeout: 0.1), .silence)
        // The last request may still be waiting at the end of the run.
        #expect((result.failures[.timeout] ?? 0) >= 1 && result.failed == 6, "\(result.failures)")
        #expect(result.latency.count == 6 && result.latency.minimum >= 100_000_000)
        #expect(result.firstTrouble?.contains("no answer within") == true)
    }

    @Test(
        "a server that hangs up or sends unusable HTTP is reported with the cause",
        arguments: [
            (ScriptedServer.Behaviour.hangUp, StepResult.Failure.closed, "the server closed the connection"),
            (
                .answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), .malformed,
                "Transfer-Encoding: chunked"
            ),
            (.answer("what?\r\n\r\n"), .malformed, "not HTTP/1.1"),
        ])
    func badServersAreNamed(
        _ behaviour: ScriptedServer.Behaviour, _ failure: StepResult.Failure, _ words: String
    ) async throws {
        let result = try await run(plan(.open(rate: 20)), behaviour)
        #expect(result.failures == [failure: 6])
        #expect(result.latency.count == 0)
        #expect(result.firstTrouble?.contains(words) == true, "\(result.firstTrouble ?? "")")
    }

    @Test("error answers are counted by status, and the first is quoted")
    func errorsAreCountedByStatusAndQuoted() async throws {
        let busy = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"
        let result = try await run(plan(.open(rate: 50)), .answer(busy))
        #expect(result.statuses == [503: 15] && result.successes == 0 && result.latency.count == 0)
        #expect(result.firstTrouble == "503 busy")
    }

    /// A run can also be cancelled before the measured period.
    @Test("a cancelled run ends early, during the warm-up too", arguments: [60.0, 0.0])
    func aRunThatIsCancelledEndsEarly(_ warmUp: Double) async throws {
        let server = try ScriptedServer(.answer(Self.fine))
        defer { server.stop() }
        let target = try LoadTarget(parsing: "http://127.0.0.1:\(server.port)/x")
        let address = try ServerAddress(of: target)
        let request = RequestBytes(target: target, body: nil, keepAlive: true)
        let plan = LoadPlan(loop: .open(rate: 100), connections: 2, seconds: 60, warmUp: warmUp)
        let load = Task { try await LoadThread.run(plan, to: address, requests: [request]) }
        try await Task.sleep(for: .milliseconds(50))
        load.cancel()
        let result = try await load.value
        #expect(result.measuredSeconds < 60 && result.due == result.sent && result.failures == [:])
        #expect(warmUp == 0 || result.measuredSeconds == 0 && result.due == 0 && result.generatorCPUSeconds == 0)
    }

    @Test("a Unix socket that does not exist is reported with its URL")
    func aServerThatIsNotThereIsNamed() async throws {
        let target = try LoadTarget(parsing: "unix:\(AbsentPath.path)/ocelli.sock")
        #expect {
            _ = try ServerAddress(of: target)
        } throws: { "\($0)".contains("cannot connect to http://unix:\(AbsentPath.path)/ocelli.sock:/v1/classify") }
    }
}
