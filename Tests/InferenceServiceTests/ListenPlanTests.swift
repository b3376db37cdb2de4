import HTTPServer
import InferenceService
import Testing

/// `listen`, with passed sockets and without.
@Suite struct ListenPlanTests {
    private static let none = SystemdSockets(environment: [:], processID: 7)
    private static let one = SystemdSockets(environment: ["LISTEN_PID": "7", "LISTEN_FDS": "1"], processID: 7)

    @Test func withoutPassedSocketsItIsTheSetting() throws {
        let plan = try ListenPlan(["127.0.0.1:8080", "unix:/run/x"], passed: Self.none)
        #expect(plan.addresses == ["127.0.0.1:8080", "unix:/run/x"].compactMap { ListenerAddress(parsing: $0) })
        #expect(plan.replaced == [])
        #expect(try ListenPlan(["systemd"], passed: Self.none).addresses == [.systemd])
    }

    @Test func passedSocketsTakeThePlaceOfAddresses() throws {
        let plan = try ListenPlan(["127.0.0.1:8080", "unix:/run/x"], passed: Self.one)
        #expect(plan.addresses == [.systemd])
        #expect(plan.replaced == ["127.0.0.1:8080", "unix:/run/x"])
    }

    @Test(arguments: [["systemd", "127.0.0.1:9"], ["127.0.0.1:9", "systemd:web"]])
    func aListThatSpeaksOfThemIsTakenAsItIs(_ listen: [String]) throws {
        let plan = try ListenPlan(listen, passed: Self.one)
        #expect(plan.addresses == listen.compactMap { ListenerAddress(parsing: $0) })
        #expect(plan.replaced == [])
    }

    @Test func socketsOfAnotherProcessAreNobodysHere() throws {
        let other = SystemdSockets(environment: ["LISTEN_PID": "8", "LISTEN_FDS": "1"], processID: 7)
        #expect(try ListenPlan(["127.0.0.1:9"], passed: other).replaced == [])
    }

    /// A mistake is one whether or not the address would be used.
    @Test func aMistakeIsNamed() {
        for passed in [Self.none, Self.one] {
            let error = #expect(throws: StartupError.self) { try ListenPlan(["nowhere"], passed: passed) }
            #expect(error?.description.contains("\"nowhere\": expected HOST:PORT") == true)
        }
    }
}
