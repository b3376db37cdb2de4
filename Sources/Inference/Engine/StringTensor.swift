internal import Synchronization

/// The place of an input of strings: it holds values, and no memory.
final class StringTensor: EngineTensor {
    let elementType = ElementType.string
    let shape: Shape
    var bytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: nil, count: 0) }
    private let strings: Mutex<[String]>

    /// Empty strings.
    init(shape: Shape) {
        self.shape = shape
        strings = Mutex([String](repeating: "", count: shape.elementCount ?? 0))
    }

    var value: StringArray { StringArray(shape: shape, elements: strings.withLock { $0 }) }

    /// Takes the strings.
    /// - Returns: whether there are as many as the shape says.
    func set(_ elements: [String]) -> Bool {
        guard elements.count == shape.elementCount else { return false }
        strings.withLock { $0 = elements }
        return true
    }
}
