import Foundation

/// The result of another program.
struct Program {
    var status: Int32
    var output: String

    /// The path of a program; nil if it is not installed.
    static func find(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin"
        let candidates = "\(path):/usr/sbin".split(separator: ":").map { "\($0)/\(name)" }
        return candidates.first { access($0, X_OK) == 0 }
    }

    /// Runs a program with arguments, and a file as its input. Its output and errors are merged.
    static func run(_ name: String, _ arguments: [String], input: URL? = nil) throws -> Program {
        guard let path = find(name) else { throw CocoaError(.fileNoSuchFile) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        process.standardInput = try input.map { try FileHandle(forReadingFrom: $0) } ?? FileHandle.nullDevice
        try process.run()
        let said = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Program(status: process.terminationStatus, output: String(decoding: said, as: UTF8.self))
    }

    /// Creates a file of `size` equal bytes while `body` runs.
    static func withFile(size: Int, _ body: (URL) throws -> Void) throws {
        let file = URL(fileURLWithPath: temporaryPath("body"))
        try Data(repeating: 97, count: size).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try body(file)
    }
}
