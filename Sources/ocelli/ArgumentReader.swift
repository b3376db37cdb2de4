internal import InferenceService
internal import JSON
internal import Settings

/// Goes through the arguments of a subcommand.
struct ArgumentReader {
    private var rest: ArraySlice<String>
    private let command: String
    /// The flags that the command knows, for a hint when one is misspelt.
    private let known: [String]
    /// After `--` everything is a word.
    private var onlyWords = false

    init(_ arguments: [String], command: String, known: [String]) {
        rest = arguments[...]
        self.command = command
        self.known = known
    }

    /// The next argument: a flag (`--top`), with the value where it is written as one (`--top=3`), or a word.
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

    /// The value of a flag: what was written after `=`, or the next argument.
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

    /// The next argument where it is a word that fits, such as the value of a flag that needs none.
    mutating func word(where fits: (String) -> Bool) -> String? {
        guard let next = rest.first, !next.hasPrefix("-"), fits(next) else { return nil }
        return rest.popFirst()
    }

    /// The error for a flag that the command does not know.
    /// - Parameter elsewhere: the command that knows it.
    func unknown(_ flag: String, elsewhere: String? = nil) -> UsageError {
        if let elsewhere {
            return UsageError(
                "\"\(flag)\" is not a flag of `ocelli \(command)`, but of `ocelli \(elsewhere)`; `ocelli help \(command)` lists them"
            )
        }
        let other = OtherNames.setting(for: flag)?.flag
        let hint =
            other.flatMap { known.contains($0) ? " (did you mean \"\($0)\"?)" : nil }
            ?? Spelling.hint(for: flag, among: known)
        return UsageError(
            "\"\(flag)\" is not a flag of `ocelli \(command)`\(hint); `ocelli help \(command)` lists them")
    }
}
