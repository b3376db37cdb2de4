internal import Settings

/// A subcommand. Its usage, help, completion and parsing are derived from its rows of flags.
protocol Command: Sendable {
    /// The parsed command line.
    associatedtype Request

    /// The subcommand's name.
    static var name: String { get }
    /// The line in `ocelli help`.
    static var summary: String { get }
    /// The usage lines, without `ocelli NAME`.
    static var usage: [String] { get }
    /// Paragraphs of explanation, with examples.
    static var about: String { get }
    /// The flags, in the order of the help.
    static var flags: [Flag<Request>] { get }
    /// Paragraphs after the flags; may be empty.
    static var notes: String { get }
    /// True if it accepts the settings as flags, and `--config`.
    static var takesSettings: Bool { get }
    /// True if it runs models in this process, which then needs enough memory and threads.
    static var runsModels: Bool { get }
    /// True if it handles SIGINT and SIGTERM itself; they are then blocked before the first thread starts.
    static var readsSignals: Bool { get }
    /// The complete text of `ocelli help NAME`.
    static var help: String { get }
    /// The subcommand for the scripts of shells.
    static var completion: Completion.Command { get }

    /// The request for an empty command line.
    static var initial: Request { get }
    /// Takes a word that is neither a flag nor the value of a flag.
    static func take(word: String, into request: inout Request) throws
    /// Runs the command.
    /// - Returns: the exit status: 0 success, 1 failure, 2 wrong usage.
    static func run(_ request: Request, settings: SettingsFlags) async throws -> Int32
    /// Parses the command line and runs the command.
    static func run(_ arguments: [String]) async throws -> Int32
}

extension Command {
    static var flags: [Flag<Request>] { [] }
    static var notes: String { "" }
    static var takesSettings: Bool { true }
    static var runsModels: Bool { true }
    static var readsSignals: Bool { false }

    static func take(word: String, into request: inout Request) throws {
        throw UsageError("\"\(word)\" is not expected here; `ocelli help \(name)` shows the usage")
    }

    /// Takes a word as the first of some values that has none yet.
    /// - Parameter maximum: the end of the error message for a word too many.
    static func take(
        _ word: String, into request: inout Request, as values: [WritableKeyPath<Request, String>], maximum: String
    ) throws {
        guard let value = values.first(where: { request[keyPath: $0].isEmpty }) else {
            throw UsageError("\"\(word)\" is not expected here: \(maximum)")
        }
        request[keyPath: value] = word
    }

    /// The subcommand for the scripts of shells.
    static var completion: Completion.Command {
        Completion.Command(
            name: name, summary: summary,
            flags: flags.map {
                Completion.Flag(
                    names: $0.names, help: $0.help, value: .init(placeholder: $0.value, words: $0.words))
            }, takesSettings: takesSettings)
    }

    /// The names of all flags, for hints.
    static var flagNames: [String] {
        let own = flags.flatMap(\.names)
        return own + (takesSettings ? SettingsFlags.names.filter { !own.contains($0) } : [])
    }

    static func run(_ arguments: [String]) async throws -> Int32 {
        let (request, settings) = try read(arguments)
        return try await run(request, settings: settings)
    }

    /// Parses a command line to the request and the settings.
    static func read(_ arguments: [String]) throws -> (Request, SettingsFlags) {
        var reader = ArgumentReader(arguments, command: name, known: flagNames)
        var settings = SettingsFlags()
        var request = initial
        let rows = flags
        while let argument = reader.next() {
            switch argument {
            case .word(let word): try take(word: word, into: &request)
            case .flag(let flag, let written):
                if let row = rows.first(where: { $0.names.contains(flag) }) {
                    guard row.value != nil || written == nil else { throw UsageError("\(flag) takes no value") }
                    try row.take(&request, flag, row.value == nil ? "" : try reader.value(of: flag, written))
                } else {
                    guard takesSettings, try settings.take(flag, value: written, from: &reader) else {
                        throw reader.unknown(flag)
                    }
                }
            }
        }
        return (request, settings)
    }

    /// The complete text of `ocelli help NAME`.
    static var help: String {
        let forms = usage.enumerated().map { ($0.offset == 0 ? "Usage: " : "       ") + "ocelli \(name) \($0.element)" }
        let rows = FlagTable(
            flags.map { ($0.names.joined(separator: ", ") + ($0.value.map { " " + $0 } ?? ""), $0.help) })
        return [forms.joined(separator: "\n"), about, rows.text, notes].filter { !$0.isEmpty }.joined(separator: "\n\n")
    }
}

extension Command where Request == Void {
    static var initial: Void { () }
}

/// The flags of a help text: names on the left, wrapped help on the right.
private struct FlagTable {
    let text: String

    private static let widest = 20, width = 118

    init(_ rows: [(names: String, help: String)]) {
        let column = (rows.map(\.names.count).filter { $0 <= Self.widest }.max() ?? Self.widest) + 2
        let margin = String(repeating: " ", count: 2 + column)
        text = rows.map { row in
            var lines = ["  " + row.names]
            if row.names.count > Self.widest {
                lines.append(margin)
            } else {
                lines[0] += String(repeating: " ", count: column - row.names.count)
            }
            var isEmpty = true
            for word in row.help.split(separator: " ") {
                if !isEmpty, lines[lines.count - 1].count + 1 + word.count > Self.width {
                    lines.append(margin)
                    isEmpty = true
                }
                lines[lines.count - 1] += (isEmpty ? "" : " ") + word
                isEmpty = false
            }
            return lines.joined(separator: "\n")
        }.joined(separator: "\n")
    }
}

/// An error in the command line.
struct UsageError: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
    init(_ message: String) { self.message = message }
}
