/// The reason why a load cannot be made: a sentence that names the thing, what was expected and what came.
package struct LoadError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
