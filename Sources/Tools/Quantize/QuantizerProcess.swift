internal import CSystem
internal import FoundationEssentials
internal import Glibc
internal import InferenceService
internal import JSON
internal import Synchronization
internal import SystemSupport

/// The Python process that quantizes: quantize.py beside this file, with NNCF.
package final class QuantizerProcess: Sendable {
    /// The request to the script; its fields are quantize.py's.
    struct Job: Encodable {
        let model: String
        let calibration: [String], validation: [String]
        let output: String?
        let at_least: Double?
        let most_layers: Int
        let result: String
        let log: String
    }

    /// The result of the script.
    package struct Outcome: Decodable, Sendable {
        /// Convolutions and matrix products, and the names of those that stay in float.
        package let layers: Int
        package let float: [String]
        /// Versions.
        package let nncf: String, openvino: String

        package init(layers: Int, float: [String], nncf: String, openvino: String) {
            self.layers = layers
            self.float = float
            self.nncf = nncf
            self.openvino = openvino
        }
    }

    /// A line of the script's.
    private struct Event: Decodable {
        var step: String?
        var done: Outcome?
        var missing: String?
        var error: String?
    }

    private enum State {
        case idle
        case running(Int32)
        case stopped
    }

    private let state = Mutex(State.idle)

    /// Ends the process, and keeps one from being started.
    func stop() {
        let process = state.withLock { state -> Int32? in
            defer { state = .stopped }
            if case .running(let process) = state { return process }
            return nil
        }
        if let process { _ = csys_kill_group(process) }
    }

    /// Runs the script. Blocks until it has ended.
    /// - Parameters:
    ///   - folder: where the job and the script are written.
    ///   - step: receives what it is doing.
    func run(
        _ job: Job, python: String, folder: String, step: (String) -> Void
    ) throws(StartupError) -> Outcome {
        let script = folder + "/quantize.py", file = folder + "/job.json"
        try OutputFile.write(PackageResources.quantize_py, to: script)
        guard let text = try? JSONEncoder().encode(job) else {
            throw StartupError("a path is not valid UTF-8")
        }
        try OutputFile.write([UInt8](text), to: file)
        var descriptor: Int32 = -1
        let variables = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        // The process is known before anybody may want to stop it.
        let process = try state.withLock { state throws(StartupError) -> Int32 in
            guard case .idle = state else { throw StartupError("interrupted") }
            let process = CStrings.with([python, script, file]) { arguments in
                CStrings.with(variables) { csys_spawn(python, arguments, $0, &descriptor) }
            }
            guard process > 0 else {
                throw StartupError("\(python) cannot be started: \(SystemError.words(-process))")
            }
            state = .running(process)
            return process
        }
        defer { _ = csys_close(descriptor) }
        var rest: [UInt8] = [], other: [String] = []
        var last = Event()
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = csys_read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            rest += buffer[..<count]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(rest[..<end])
                rest.removeFirst(end + 1)
                guard let event = try? JSONDecoder().decode(Event.self, from: Data(line)) else {
                    other.append(String(decoding: line.prefix(300), as: UTF8.self))
                    continue
                }
                if let text = event.step { step(text) } else { last = event }
            }
            if rest.count > 1 << 20 { rest = [] }
        }
        var signal: Int32 = 0, status: Int32 = 0
        _ = csys_wait_child(process, &signal, &status)
        state.withLock { if case .running = $0 { $0 = .idle } }
        if let done = last.done, signal == 0, status == 0 { return done }
        if let missing = last.missing {
            throw StartupError("\(python) has no package \"\(missing)\". \(Self.advice)")
        }
        if let error = last.error { throw StartupError("NNCF cannot quantize the model: \(error)") }
        let end = signal == 0 ? "exited with status \(status)" : "was killed by signal \(signal)"
        throw StartupError("\(python) \(end): \(other.last ?? Self.lastLine(of: job.log))")
    }

    private static func lastLine(of log: String) -> String {
        guard let data = FileManager.default.contents(atPath: log) else { return "it wrote nothing" }
        let text = String(decoding: data.suffix(4096), as: UTF8.self)
        return text.split(whereSeparator: \.isNewline).last.map { String($0.suffix(300)) } ?? "it wrote nothing"
    }

    // MARK: Which Python

    /// The folder of the virtual environment that is looked for.
    static var environmentFolder: String {
        let variables = ProcessInfo.processInfo.environment
        let data = variables["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        return (data ?? (variables["HOME"] ?? "/root") + "/.local/share") + "/ocelli/nncf"
    }

    /// The steps to install what is missing.
    static var advice: String {
        """
        `ocelli quantize` needs Python 3 with NNCF and OpenVINO, in a virtual environment of its own:
          python3 -m venv \(environmentFolder)
          \(environmentFolder)/bin/pip install nncf openvino
        It is found there; another one is named with --python.
        """
    }

    /// The Python to use: the one that was named, else that of the virtual environment, else the first on the path.
    static func python(named name: String?) throws(StartupError) -> String {
        if let name {
            guard let found = program(name) else { throw StartupError("--python: \(name) is not a program") }
            return found
        }
        if let found = program(environmentFolder + "/bin/python3") ?? program("python3") { return found }
        throw StartupError("python3 is not installed. \(advice)")
    }

    private static func program(_ name: String) -> String? {
        let places =
            name.contains("/")
            ? [name]
            : (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":").map {
                "\($0)/\(name)"
            }
        return places.first { path in
            var status = stat()
            return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
        }
    }
}
