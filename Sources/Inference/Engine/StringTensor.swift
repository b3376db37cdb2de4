internal import Synchronization

/// An input of strings: it holds values instead of memory.
final class StringTensor: EngineTensor {
    let elementType = ElementType.string
    let shape: Shape
    var bytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: nil, count: 0) }
    private let strings: Mutex<[String]>

    /// Creates a tensor of empty strings.
    init(shape: Shape) {
        self.shape = shape
        strings = Mutex([String](repeating: "", count: shape.elementCount ?? 0))
    }

    var value: StringArray { StringArray(shape: shape, elements: strings.withLock { $0 }) }

    /// Stores the strings.
    /// - Returns: false if their number does not match the shape.
    func set(_ elements: [String]) -> Bool {
        guard elements.count == shape.elementCount else { return false }
        strings.withLock { $0 = elements }
        return true
    }
}
