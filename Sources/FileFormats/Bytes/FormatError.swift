/// The reason why a file cannot be read. In messages it follows the name of the file.
package struct FormatError: Error, Sendable, Hashable {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}
