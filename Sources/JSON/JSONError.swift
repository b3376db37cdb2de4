/// The reason why JSON text was refused.
package struct JSONError: Error, Sendable, Hashable {
    /// The kind of error.
    package enum Kind: Sendable {
        /// The text is not JSON, or exceeds the limits on size or depth.
        case syntax
        /// The text is JSON, but not the expected value.
        case value
        /// The reading task was cancelled.
        case cancelled
    }

    package let kind: Kind
    /// A sentence with the value or its location, the expected and the actual value.
    package let message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    /// The text is not JSON, or exceeds the limits on size or depth.
    package static func syntax(_ message: String) -> JSONError { JSONError(.syntax, message) }

    /// The text is JSON, but not the expected value.
    package static func value(_ message: String) -> JSONError { JSONError(.value, message) }

    /// The reading task was cancelled: its values are not needed any more.
    package static let cancelled = JSONError(.cancelled, "reading was cancelled")

    /// The error with `words` before its message.
    package func prefixed(_ words: String) -> JSONError { JSONError(kind, words + message) }
}
