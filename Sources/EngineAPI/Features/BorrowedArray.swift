/// A tensor with bytes that belong to another owner, such as a network buffer: it is copied only once, into the
/// engine's memory.
public struct BorrowedArray: Sendable {
    /// The type of the elements; never ``ElementType/string``.
    public let elementType: ElementType
    /// The shape; every axis is fixed.
    public let shape: Shape
    /// The number of bytes.
    public let byteCount: Int
    private let lend: @Sendable ((UnsafeRawBufferPointer) -> Void) -> Void

    /// A tensor with bytes that are lent on demand: row-major, in the machine's byte order, with any alignment.
    /// - Parameter lend: calls its argument once, with `byteCount` bytes, before it returns. It may be called several
    ///   times, from any thread.
    /// - Throws: ``InferenceError/invalidInput(name:reason:)`` if the number of bytes does not match the shape.
    public init(
        elementType: ElementType, shape: Shape, byteCount: Int,
        lend: @escaping @Sendable ((UnsafeRawBufferPointer) -> Void) -> Void
    ) throws(InferenceError) {
        guard let count = shape.elementCount, elementType.byteCount > 0,
            case let (expected, overflow) = count.multipliedReportingOverflow(by: elementType.byteCount), !overflow,
            expected == byteCount
        else {
            throw .invalidInput(
                name: "array",
                reason: "\(byteCount) bytes do not fit a tensor of shape \(shape) of \(elementType.rawValue)")
        }
        self.elementType = elementType
        self.shape = shape
        self.byteCount = byteCount
        self.lend = lend
    }

    /// A tensor of an array's elements. Their size must be that of `elementType`.
    /// - Throws: ``InferenceError/invalidInput(name:reason:)`` if the number of elements does not match the shape.
    public init<Element: BitwiseCopyable & Sendable>(
        elementType: ElementType, shape: Shape, elements: [Element]
    ) throws(InferenceError) {
        try self.init(
            elementType: elementType, shape: shape, byteCount: elements.count * MemoryLayout<Element>.stride
        ) { body in
            elements.withUnsafeBytes { body($0) }
        }
    }

    /// The number of elements.
    public var count: Int { elementType.byteCount == 0 ? 0 : byteCount / elementType.byteCount }

    /// Calls `body` with the bytes; the pointer is valid only during the call. If the owner lends a different number of
    /// bytes, `body` is not called.
    public func withUnsafeBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        lend { bytes in
            if bytes.count == byteCount { body(bytes) }
        }
    }
}
