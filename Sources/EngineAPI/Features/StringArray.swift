/// A tensor of strings as a value, in row-major order.
public struct StringArray: Sendable, Hashable {
    /// The shape; every axis is fixed.
    public let shape: Shape
    /// The strings, as many as the shape has elements.
    public let elements: [String]

    /// A tensor of strings.
    public init(shape: Shape, elements: [String]) {
        self.shape = shape
        self.elements = elements
    }
}
