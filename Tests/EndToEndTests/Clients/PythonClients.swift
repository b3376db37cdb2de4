import Foundation
import TestSupport

/// Clients from PyPI, in the tests' own environments under .build, created once, if pip can reach its index.
enum PythonClients {
    static let scripts = SharedData.packageRoot.appendingPathComponent("Tests/Clients")

    /// A virtual environment with the packages of a file of Tests/Clients.
    struct Environment: Sendable {
        let requirements: URL
        let folder: URL

        init(_ requirements: String, folder: String) {
            self.requirements = scripts.appendingPathComponent(requirements)
            self.folder = SharedData.packageRoot.appendingPathComponent(".build/" + folder)
        }

        /// True if the environment has the packages of the file.
        var isReady: Bool {
            guard let wanted = try? Data(contentsOf: requirements) else { return false }
            return (try? Data(contentsOf: folder.appendingPathComponent("ready"))) == wanted
        }

        /// Installs the packages, unless they are installed.
        func make() -> Bool {
            if isReady { return true }
            guard Shell.has("python3"), let wanted = try? Data(contentsOf: requirements),
                let made = try? Shell.run("python3", ["-m", "venv", folder.path]), made.status == 0,
                let installed = try? Shell.run(
                    folder.path + "/bin/pip",
                    ["install", "-q", "--disable-pip-version-check", "-r", requirements.path]),
                installed.status == 0
            else { return false }
            try? wanted.write(to: folder.appendingPathComponent("ready"))
            return true
        }
    }

    private static let clients = Environment("requirements.txt", folder: "clients")
    private static let bulk = Environment("requirements-bulk.txt", folder: "bulk-clients")
    private static let hub = Environment("requirements-hub.txt", folder: "hub-client")
    private static let servers = Environment("requirements-servers.txt", folder: "server-clients")
    private static let labelStudio = Environment("requirements-labelstudio.txt", folder: "label-studio")

    /// True if the environment exists, or could be created.
    static let isAvailable = clients.make()
    /// True if the environment with Ray, Spark and Dask exists; `make setup-tests` creates it.
    static let isBulkAvailable = bulk.isReady && Shell.has("java")
    /// The Python of that environment.
    static var bulkPython: String { bulk.folder.path + "/bin/python" }
    /// True if the environment with the packages of other servers' clients exists; `make setup-tests` creates it.
    static let areServersAvailable = servers.isReady

    /// True if the environment with Label Studio exists; `scripts/setup-tests --all` creates it.
    static let isLabelStudioAvailable = labelStudio.isReady

    /// True if the environment with the hub's own package exists, or could be created.
    static let isHubAvailable = hub.make()
    /// The Python of that environment.
    static var hubPython: String { hub.folder.path + "/bin/python" }

    /// The reasons of skipped tests.
    static let hubAbsence = "huggingface_hub cannot be installed: pip needs its index"
    static let absence = "the clients of Tests/Clients/requirements.txt cannot be installed: pip needs its index"
    static let bulkAbsence = "Ray, Spark and Dask are not installed: `make setup-tests` installs them"

    static let serversAbsence =
        "the packages of other servers' clients are not installed: `make setup-tests` installs them"

    static let labelStudioAbsence = "Label Studio is not installed: `scripts/setup-tests --all` installs it"

    /// Runs Label Studio with Ocelli as its back end.
    static func runLabelStudio(_ arguments: [String]) throws -> Shell.Result {
        let programs = labelStudio.folder.path + "/bin/"
        return try Shell.run(
            programs + "python",
            [scripts.path + "/labelstudio_client.py", programs + "label-studio"] + arguments)
    }

    /// Runs a script of Tests/Clients.
    /// - Parameter withServers: whether to use the packages of other servers.
    static func run(
        _ script: String, _ arguments: [String], input: Data? = nil, withServers: Bool = false
    ) throws -> Shell.Result {
        let python = (withServers ? servers : clients).folder.path + "/bin/python"
        return try Shell.run(python, [scripts.path + "/" + script] + arguments, input: input)
    }

    /// Runs a script with the environment's Python in another folder.
    static func run(_ script: URL, in directory: URL) throws -> Shell.Result {
        try Shell.run(clients.folder.path + "/bin/python", [script.path], directory: directory)
    }

    /// Runs a program of the environment.
    static func tool(_ name: String, _ arguments: [String]) throws -> Shell.Result {
        // Files that a tool creates stay out of the sources.
        try Shell.run(clients.folder.path + "/bin/" + name, arguments, directory: clients.folder)
    }

    /// Runs tests of the Python package (a module, or a test in it).
    /// - Parameter inBulk: whether to use Ray, Spark and Dask.
    static func unittest(_ names: [String], inBulk: Bool = false) throws -> Shell.Result {
        let python = (inBulk ? bulk : clients).folder.path + "/bin/python"
        return try Shell.run(
            "timeout", ["900", python, "-B", "-m", "unittest"] + names,
            environment: ["TEST_BINARY": Daemon.binary.path, "XDG_CACHE_HOME": Daemon.cache.path],
            directory: SharedData.packageRoot.appendingPathComponent("clients/python/tests"))
    }
}
