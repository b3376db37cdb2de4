import HTTPServer
import Testing

@Suite("Sockets from systemd")
struct SystemdSocketsTests {
    private func read(_ environment: [String: String]) -> [String] {
        SystemdSockets(environment: environment, processID: 77).sockets.map { "\($0.descriptor) \($0.name)" }
    }

    @Test("sockets passed by systemd are numbered from 3 and named")
    func named() {
        let environment = ["LISTEN_PID": "77", "LISTEN_FDS": "3", "LISTEN_FDNAMES": "http:admin"]
        #expect(read(environment) == ["3 http", "4 admin", "5 unknown"])
    }

    @Test(
        "sockets passed by systemd are ignored if the variables are invalid or for another process",
        arguments: [
            [:], ["LISTEN_FDS": "1"], ["LISTEN_PID": "78", "LISTEN_FDS": "1"], ["LISTEN_PID": "77"],
            ["LISTEN_PID": "77", "LISTEN_FDS": "0"], ["LISTEN_PID": "77", "LISTEN_FDS": "-1"],
            ["LISTEN_PID": "77", "LISTEN_FDS": "99999999999"], ["LISTEN_PID": "x", "LISTEN_FDS": "1"],
        ])
    func absent(environment: [String: String]) {
        #expect(read(environment).isEmpty)
    }
}
