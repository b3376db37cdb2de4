import Inference

/// A tensor in memory, with zeros at first.
///
/// Sendable: the memory is allocated once, and ``EngineTensor`` has the rules for access to it.
final class ZeroTensor: EngineTensor, @unchecked Sendable {
    let elementType: ElementType
    let shape: Shape
    let bytes: UnsafeMutableRawBufferPointer

    init(elementType: ElementType, shape: Shape) {
        self.elementType = elementType
        self.shape = shape
        bytes = .allocate(byteCount: (shape.elementCount ?? 0) * elementType.byteCount, alignment: 64)
        _ = bytes.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { bytes.deallocate() }
}
