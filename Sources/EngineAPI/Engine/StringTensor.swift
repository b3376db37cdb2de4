internal import Synchronization

/// An input of strings: it holds values instead of memory.
package final class StringTensor: EngineTensor {
    package let elementType = ElementType.string
    package let shape: Shape
    package var bytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: nil, count: 0) }
    private let strings: Mutex<[String]>

    /// Creates a tensor of empty strings.
    package init(shape: Shape) {
        self.shape = shape
        strings = Mutex([String](repeating: "", count: shape.elementCount ?? 0))
    }

    package var value: StringArray { StringArray(shape: shape, elements: strings.withLock { $0 }) }

    /// Stores the strings.
    /// - Returns: false if their number does not match the shape.
    package func set(_ elements: [String]) -> Bool {
        guard elements.count == shape.elementCount else { return false }
        strings.withLock { $0 = elements }
        return true
    }
}
