/// The reason why JSON text was refused.
package struct JSONError: Error, Sendable, Hashable {
    /// The kind of mistake.
    package enum Kind: Sendable {
        /// The text is not JSON, or it is larger or deeper than what is read.
        case syntax
        /// The text is JSON, but holds another value than was expected.
        case value
        /// The task that reads was cancelled.
        case cancelled
    }

    /// The kind of mistake.
    package let kind: Kind
    /// A sentence that names the value or the place, what was expected and what was found.
    package let message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    /// The text is not JSON, or it is larger or deeper than what is read.
    package static func syntax(_ message: String) -> JSONError { JSONError(.syntax, message) }

    /// The text is JSON, but holds another value than was expected.
    package static func value(_ message: String) -> JSONError { JSONError(.value, message) }

    /// The task that reads was cancelled: the values are not wanted any more.
    package static let cancelled = JSONError(.cancelled, "reading was cancelled")

    /// The same with words before its sentence.
    package func prefixed(_ words: String) -> JSONError { JSONError(kind, words + message) }
}
