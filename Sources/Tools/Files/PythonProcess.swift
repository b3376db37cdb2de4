internal import CSystem
internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import SystemSupport

/// A Python process that runs one job with a script of Ocelli, and reports its progress in lines of JSON.
final class PythonProcess: Sendable {
    /// The result of the process: its exit, and its last line that was not JSON.
    struct End {
        let signal: Int32, status: Int32
        let rest: String?

        var isSuccess: Bool { signal == 0 && status == 0 }
        var text: String { signal == 0 ? "exited with status \(status)" : "was killed by signal \(signal)" }
    }

    private enum State {
        case idle
        case running(Int32)
        case stopped
    }

    private let state = Mutex(State.idle)

    /// Ends the process, or prevents its start.
    func stop() {
        let process = state.withLock { state -> Int32? in
            defer { state = .stopped }
            if case .running(let process) = state { return process }
            return nil
        }
        if let process { _ = csys_kill_group(process) }
    }

    /// Runs a script. Blocks until it has ended.
    /// - Parameters:
    ///   - folder: the folder for the job and the script.
    ///   - line: called with each line of output; returns false if it is not JSON of the script.
    func run(
        _ script: [UInt8], named name: String, job: some Encodable, python: String, folder: String,
        line: (Data) -> Bool
    ) throws(CommandError) -> End {
        let path = folder + "/" + name, file = folder + "/job.json"
        try OutputFile.write(script, to: path)
        guard let text = try? JSONEncoder().encode(job) else {
            throw CommandError("a path is not valid UTF-8")
        }
        try OutputFile.write([UInt8](text), to: file)
        var descriptor: Int32 = -1
        let variables = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        // Start the process with the lock held, so that `stop` always finds it.
        let process = try state.withLock { state throws(CommandError) -> Int32 in
            guard case .idle = state else { throw CommandError("interrupted") }
            let process = CStrings.with([python, path, file]) { arguments in
                CStrings.with(variables) { csys_spawn(python, arguments, $0, &descriptor) }
            }
            guard process > 0 else {
                throw CommandError("\(python) cannot be started: \(SystemError.words(-process))")
            }
            state = .running(process)
            return process
        }
        defer { _ = csys_close(descriptor) }
        let rest = Self.read(descriptor, line)
        var signal: Int32 = 0, status: Int32 = 0
        _ = csys_wait_child(process, &signal, &status)
        state.withLock { if case .running = $0 { $0 = .idle } }
        return End(signal: signal, status: status, rest: rest)
    }

    /// Passes lines to `line` until the end. Returns the last one that was not accepted.
    private static func read(_ descriptor: Int32, _ line: (Data) -> Bool) -> String? {
        var rest: [UInt8] = [], other: String?
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = csys_read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return other }
            rest += buffer[..<count]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let text = Array(rest[..<end])
                rest.removeFirst(end + 1)
                if !line(Data(text)) { other = String(decoding: text.prefix(300), as: UTF8.self) }
            }
            if rest.count > 1 << 20 { rest = [] }
        }
    }

    /// The last line that the libraries have written to a file.
    static func lastLine(of log: String) -> String {
        guard let data = FileManager.default.contents(atPath: log) else { return "it wrote nothing" }
        let text = String(decoding: data.suffix(4096), as: UTF8.self)
        return text.split(whereSeparator: \.isNewline).last.map { String($0.suffix(300)) } ?? "it wrote nothing"
    }

    // MARK: Which Python

    /// A command's own virtual environment, in the user's data folder.
    static func environment(_ name: String) -> String {
        let variables = ProcessInfo.processInfo.environment
        let data = variables["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        return (data ?? (variables["HOME"] ?? "/root") + "/.local/share") + "/ocelli/" + name
    }

    /// The Python to use: the named one, otherwise that of the virtual environment, otherwise the first one on the
    /// path.
    /// - Parameter advice: the steps to install missing packages.
    static func find(named name: String?, environment: String, advice: String) throws(CommandError) -> String {
        if let name {
            guard let found = program(name) else { throw CommandError("--python: \(name) is not a program") }
            return found
        }
        if let found = program(environment + "/bin/python3") ?? program("python3") { return found }
        throw CommandError("python3 is not installed. \(advice)")
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
