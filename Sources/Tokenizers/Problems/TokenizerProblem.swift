/// The reason why a tokenizer file cannot be read, or why a text cannot be encoded.
package struct TokenizerProblem: Error, Sendable, Hashable {
    /// The kind of problem.
    package enum Kind: Sendable {
        /// The file is not JSON, or a value in it is not the expected one.
        case malformed
        /// The file is valid, but it has a part that this module does not implement.
        case unsupported
        /// The file, or a text during its encoding, exceeds a limit.
        case tooLarge
        /// The tokenizer has no id for a part of the text.
        case unknownToken
    }

    package let kind: Kind
    /// A sentence that names the part, the expected and the actual value. It follows the name of the file.
    package let message: String

    init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    static func malformed(_ message: String) -> TokenizerProblem { TokenizerProblem(.malformed, message) }

    static func unsupported(_ message: String) -> TokenizerProblem { TokenizerProblem(.unsupported, message) }

    static func tooLarge(_ message: String) -> TokenizerProblem { TokenizerProblem(.tooLarge, message) }

    static func unknownToken(_ message: String) -> TokenizerProblem { TokenizerProblem(.unknownToken, message) }

    /// The problem with a path of the file before its message.
    func located(_ path: String) -> TokenizerProblem { TokenizerProblem(kind, "\(path): \(message)") }
}
