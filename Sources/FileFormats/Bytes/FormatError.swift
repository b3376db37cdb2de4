/// The reason why a file cannot be read: what follows its name in a sentence.
package struct FormatError: Error, Sendable, Hashable {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}
