import Foundation
import TestSupport
import Testing

/// The Python package (clients/python): its own tests, which use the daemon under test.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct PythonPackageTests {
    @Test(
        "the Python package's tests of client, wire format, examples and documents pass",
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)),
        arguments: LongTests.every(2, of: ["test_client", "test_wire", "test_examples", "test_bulk.DocumentTests"]))
    func clientGivesWhatTheDaemonAnswers(_ module: String) throws {
        let result = try PythonClients.unittest([module])
        #expect(result.status == 0, "\(result.errors.suffix(6000))")
    }

    /// Takes long, because a daemon ends 15 seconds after its last user.
    @Test(
        "the Python package's local daemon is shared, and ends after its last user",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)),
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)))
    func localDaemonIsSharedAndEndsAfterItsLastUser() throws {
        let result = try PythonClients.unittest(["test_daemon"])
        #expect(result.status == 0, "\(result.errors.suffix(6000))")
    }

    @Test(
        "each documented bulk example of the Python package passes its test",
        .enabled(if: LongTests.haveClusters, Comment(rawValue: LongTests.clusterAbsence)),
        .enabled(if: PythonClients.isBulkAvailable, Comment(rawValue: PythonClients.bulkAbsence)),
        arguments: [
            "test_ray", "test_ray_on_three_nodes_with_workers_and_the_daemon_killed", "test_spark", "test_dask",
            "test_an_object_store", "test_parquet", "test_similar_pictures",
        ])
    func bulkExampleOfTheDocumentAnswersEachPictureOnce(_ name: String) throws {
        let result = try PythonClients.unittest(["test_bulk.BulkTests." + name], inBulk: true)
        #expect(result.status == 0, "\(result.errors.suffix(6000))")
    }

    /// As installed by users: from the wheel, into an environment without the checkout.
    @Test(
        "the wheel has the Python package, its type marker and its helper modules",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)),
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)))
    func wheelHasThePackageAndItsTypes() throws {
        let made = try Shell.run("make", ["-s", "wheel"], directory: SharedData.packageRoot)
        #expect(made.status == 0, "\(made.errors.suffix(2000))")
        let wheel = SharedData.packageRoot.appendingPathComponent("dist/ocelli-0.1.0-py3-none-any.whl")
        let listed = try Shell.run("python3", ["-m", "zipfile", "-l", wheel.path])
        for name in ["ocelli/__init__.py", "ocelli/py.typed", "ocelli/_keeper.py", "ocelli/spark.py"] {
            #expect(listed.text.contains(name), "\(name)")
        }
    }
}
