/// The reason why a load cannot be generated: a sentence with the object, the expected and the actual value.
package struct LoadError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
