/// A subcommand.
protocol Command: Sendable {
    /// The subcommand's name.
    static var name: String { get }
    /// One line of `ocelli help`.
    static var summary: String { get }
    /// All of `ocelli help NAME`.
    static var help: String { get }
    /// Every flag that it knows.
    static var flags: [String] { get }

    /// Does the work.
    /// - Returns: the process's exit status: 0 success, 1 failure, 2 wrong use.
    static func run(_ arguments: [String]) async throws -> Int32
}

/// A command line that is wrong.
struct UsageError: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
    init(_ message: String) { self.message = message }
}
