import Foundation
import TestSupport
import Testing

/// `ocelli pull` against a server that speaks the hub's protocol, on loopback. The cases are in
/// Tests/Clients/pull_tests.py, the server in hub_server.py.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: Shell.has("python3"), "python3 is not installed: the server of these tests needs it"), .serialized)
struct PullTests {
    private func unittest(_ name: String) throws {
        let result = try Shell.run(
            "timeout", ["600", "python3", "-B", "-m", "unittest", "pull_tests." + name],
            environment: ["TEST_BINARY": Daemon.binary.path, "TEST_CACHE": Daemon.cache.path],
            directory: PythonClients.scripts)
        #expect(result.status == 0, "\(result.errors.suffix(6000))")
    }

    @Test("a pull brings what is served and nothing else, whole, and once")
    func pulls() throws { try unittest("Pulls") }

    @Test(
        "faults of the hub and of the disk leave no folder, and the next pull goes on",
        arguments: [
            "test_broken_connections_go_on", "test_the_next_pull_goes_on", "test_a_server_without_ranges",
            "test_bytes_damaged_on_disk_are_fetched_again", "test_wrong_contents", "test_wrong_lists", "test_redirects",
            "test_stalled_and_endless", "test_refusals", "test_kill_at_any_instant",
            "test_full_disks_and_closed_folders",
        ])
    func faults(_ name: String) throws { try unittest("Faults." + name) }

    @Test("the token goes to the hub alone, and proxies are those of the environment")
    func secrets() throws { try unittest("Secrets") }

    @Test(
        "certificates are checked, redirects stay with https, and the address of a file is pulled by its length",
        .enabled(if: Shell.has("openssl"), "openssl is not installed: the tests' certificate is made with it"))
    func tls() throws { try unittest("TLS") }

    @Test("a missing libcurl is reported with its package")
    func libraries() throws { try unittest("Libraries") }

    @Test("what was pulled is served, with its labels; a Core ML package and a chosen file, too")
    func serves() throws { try unittest("Serves") }

    @Test(
        "the hub's own package gets the same files from the same server, at the same addresses",
        .enabled(if: PythonClients.isHubAvailable, Comment(rawValue: PythonClients.hubAbsence)))
    func package() throws {
        let result = try Shell.run(
            "timeout", ["300", PythonClients.hubPython, "-B", PythonClients.scripts.path + "/hub_package.py"],
            environment: ["TEST_BINARY": Daemon.binary.path])
        #expect(result.status == 0, "\(result.errors.suffix(6000))")
    }
}
