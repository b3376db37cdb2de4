public import Foundation
internal import Synchronization

/// Runs a program to its end.
public enum Shell {
    /// The result of a program.
    public struct Result: Sendable {
        /// Its exit status.
        public let status: Int32
        /// Its standard output.
        public let output: Data
        /// Its standard error.
        public let errors: String
        /// The output as text.
        public var text: String { String(decoding: output, as: UTF8.self) }
        /// The output as JSON; an empty object if it is not one.
        public var json: [String: Any] { (try? JSONSerialization.jsonObject(with: output)) as? [String: Any] ?? [:] }
    }

    /// This process's environment without the variable of `make quick` for Package.swift: the program takes OCELLI_
    /// variables as settings.
    public static var environment: [String: String] {
        ProcessInfo.processInfo.environment.filter { $0.key != "OCELLI_ONLY" }
    }

    /// Runs a program, found on PATH, and waits for it.
    public static func run(
        _ program: String, _ arguments: [String], environment: [String: String]? = nil, input: Data? = nil,
        directory: URL? = nil
    ) throws -> Result {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.environment = self.environment.merging(environment ?? [:]) { $1 }
        if let directory { process.currentDirectoryURL = directory }
        let output = Pipe(), errors = Pipe(), stdin = Pipe()
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = input == nil ? FileHandle.nullDevice : stdin
        try process.run()
        if let input {
            DispatchQueue.global().async {
                try? stdin.fileHandleForWriting.write(contentsOf: input)
                try? stdin.fileHandleForWriting.close()
            }
        }
        // Read both pipes to their ends concurrently, so that neither fills up and stops the program.
        let complaint = Mutex(Data())
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) {
            let all = errors.fileHandleForReading.readDataToEndOfFile()
            complaint.withLock { $0 = all }
        }
        let data = output.fileHandleForReading.readDataToEndOfFile()
        group.wait()
        process.waitUntilExit()
        return Result(
            status: process.terminationStatus, output: data,
            errors: String(decoding: complaint.withLock { $0 }, as: UTF8.self))
    }

    /// True if a program is on PATH.
    public static func has(_ program: String) -> Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(program)")
        }
    }
}
