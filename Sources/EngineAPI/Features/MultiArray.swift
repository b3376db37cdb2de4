/// A tensor as a value: elements of one type in row-major order. Copies share storage until one is modified.
public struct MultiArray: Sendable, Hashable {
    /// The type of the elements; never ``ElementType/string``.
    public let elementType: ElementType
    /// The shape; every axis is fixed.
    public let shape: Shape
    /// The elements in row-major order, in the machine's byte order: `shape.elementCount * elementType.byteCount`
    /// bytes.
    public private(set) var bytes: [UInt8]

    /// A tensor of the given bytes.
    /// - Throws: ``InferenceError/invalidInput(name:reason:)`` if the number of bytes does not match the shape.
    public init(elementType: ElementType, shape: Shape, bytes: [UInt8]) throws(InferenceError) {
        guard let count = shape.elementCount, elementType.byteCount > 0,
            case let (expected, overflow) = count.multipliedReportingOverflow(by: elementType.byteCount), !overflow,
            expected == bytes.count
        else {
            throw .invalidInput(
                name: "array",
                reason: "\(bytes.count) bytes do not fit a tensor of shape \(shape) of \(elementType.rawValue)")
        }
        self.elementType = elementType
        self.shape = shape
        self.bytes = bytes
    }

    /// A tensor of 32-bit floats.
    /// - Throws: ``InferenceError/invalidInput(name:reason:)`` if their number does not match the shape.
    public init(shape: Shape, floats: [Float]) throws(InferenceError) {
        try self.init(elementType: .float32, shape: shape, bytes: floats.withUnsafeBytes { [UInt8]($0) })
    }

    /// The number of elements.
    public var count: Int { elementType.byteCount == 0 ? 0 : bytes.count / elementType.byteCount }

    /// The elements as doubles, in row-major order. Exact for all types except 64-bit integers beyond 2^53.
    public var doubles: [Double] {
        bytes.withUnsafeBytes { raw in
            [Double](unsafeUninitializedCapacity: count) { buffer, initialized in
                ElementConversion.read(raw, as: elementType) { index, value in
                    buffer.initializeElement(at: index, to: value)
                }
                initialized = count
            }
        }
    }
}
