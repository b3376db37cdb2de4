/// Why the daemon cannot start: a sentence that says what to do.
package struct StartupError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
