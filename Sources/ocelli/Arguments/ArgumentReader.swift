internal import InferenceService
internal import JSON
internal import Settings
internal import SystemSupport

/// Reads the arguments of a subcommand one by one.
struct ArgumentReader {
    private var rest: ArraySlice<String>
    private let command: String
    /// The flags of the command, for a hint about a misspelt one.
    private let known: [String]
    /// True after `--`: all further arguments are words.
    private var onlyWords = false

    init(_ arguments: [String], command: String, known: [String]) {
        rest = arguments[...]
        self.command = command
        self.known = known
    }

    /// An argument: a flag (`--top`), with its value if it is part of the argument (`--top=3`), or a word.
    enum Argument {
        case flag(String, value: String?)
        case word(String)
    }

    mutating func next() -> Argument? {
        guard let text = rest.popFirst() else { return nil }
        guard !onlyWords, text.hasPrefix("-"), text != "-" else { return .word(text) }
        if text == "--" {
            onlyWords = true
            return next()
        }
        guard text.hasPrefix("--"), let equals = text.firstIndex(of: "=") else { return .flag(text, value: nil) }
        return .flag(String(text[..<equals]), value: String(text[text.index(after: equals)...]))
    }

    /// The value of a flag: the text after `=`, or the next argument.
    mutating func value(of flag: String, _ written: String?) throws -> String {
        if let written { return written }
        guard let value = rest.popFirst() else {
            throw UsageError("\(flag) needs a value; `ocelli help \(command)` says which")
        }
        guard !value.hasPrefix("--") else {
            throw UsageError(
                "\(flag) needs a value, and \(value) comes after it: write \(flag)=\(value) if that is the value")
        }
        return value
    }

    /// The next argument, if it is a suitable word, such as the optional value of a flag.
    mutating func word(where fits: (String) -> Bool) -> String? {
        guard let next = rest.first, !next.hasPrefix("-"), fits(next) else { return nil }
        return rest.popFirst()
    }

    /// The error for an unknown flag.
    func unknown(_ flag: String) -> UnknownFlag { UnknownFlag(flag: flag, command: command, known: known) }
}

/// An error in the command line: a flag that the command does not have.
struct UnknownFlag: Error {
    let flag: String
    let command: String
    /// The flags of the command.
    let known: [String]

    /// The message.
    /// - Parameter other: another command that has this flag.
    func message(other: String?) -> String {
        if let other {
            return
                "\"\(flag)\" is not a flag of `ocelli \(command)`, but of `ocelli \(other)`; `ocelli help \(command)` lists them"
        }
        let setting = ForeignSettingNames.setting(for: flag)?.flag
        let hint =
            setting.flatMap { known.contains($0) ? " (did you mean \"\($0)\"?)" : nil }
            ?? Spelling.hint(for: flag, among: known)
        return "\"\(flag)\" is not a flag of `ocelli \(command)`\(hint); `ocelli help \(command)` lists them"
    }
}
