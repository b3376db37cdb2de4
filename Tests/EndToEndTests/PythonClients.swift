import Foundation
import TestSupport

/// Clients from PyPI, in an environment of the tests' own under .build; made once, where pip can reach its index.
enum PythonClients {
    static let scripts = SharedData.packageRoot.appendingPathComponent("Tests/Clients")
    private static let folder = SharedData.packageRoot.appendingPathComponent(".build/clients")

    /// Whether the environment is there, or could be made.
    static let isAvailable: Bool = {
        let stamp = folder.appendingPathComponent("ready")
        let wanted = try? Data(contentsOf: scripts.appendingPathComponent("requirements.txt"))
        if let wanted, (try? Data(contentsOf: stamp)) == wanted { return true }
        guard Shell.has("python3"),
            let made = try? Shell.run("python3", ["-m", "venv", folder.path]), made.status == 0,
            let installed = try? Shell.run(
                folder.path + "/bin/pip",
                ["install", "-q", "--disable-pip-version-check", "-r", scripts.path + "/requirements.txt"]),
            installed.status == 0
        else { return false }
        try? wanted?.write(to: stamp)
        return true
    }()

    /// What a skipped test says.
    static let absence = "the clients of Tests/Clients/requirements.txt cannot be installed: pip needs its index"

    /// Runs a script of Tests/Clients.
    static func run(_ script: String, _ arguments: [String]) throws -> Shell.Result {
        try Shell.run(folder.path + "/bin/python", [scripts.path + "/" + script] + arguments)
    }

    /// Runs a script of the environment's Python in another folder.
    static func run(_ script: URL, in directory: URL) throws -> Shell.Result {
        try Shell.run(folder.path + "/bin/python", [script.path], directory: directory)
    }

    /// Runs a program of the environment.
    static func tool(_ name: String, _ arguments: [String]) throws -> Shell.Result {
        // Where a tool leaves files of its own, they stay out of the sources.
        try Shell.run(folder.path + "/bin/" + name, arguments, directory: folder)
    }
}
