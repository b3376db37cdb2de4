internal import CLiteRT
internal import EngineAPI
internal import Glibc

/// Memory for one tensor of numbers, which LiteRT accesses without copying.
///
/// Sendable: the pointers never change; ``EngineTensor`` defines which code may access the memory, and when.
final class LiteRTTensor: EngineTensor, @unchecked Sendable {
    let elementType: ElementType
    let shape: Shape
    let bytes: UnsafeMutableRawBufferPointer
    let buffer: OpaquePointer
    private let library: LiteRTLibrary

    /// Kernels with vector instructions read beyond the end.
    private static let beyond = 64, alignment = 64

    init(_ library: LiteRTLibrary, elementType: ElementType, shape: Shape) throws(EngineError) {
        let size = try elementType.size(of: shape)
        let operation = "create a tensor of shape \(shape) of \(elementType.rawValue)"
        guard let layout = litert_layout(shape), elementType.litert != 0 else {
            throw EngineError(
                kind: .failure, operation: operation, detail: "LiteRT has no such tensors (at most 8 axes)")
        }
        let (allocated, overflow) = size.addingReportingOverflow(Self.beyond)
        // Allocated directly, so that insufficient memory causes an error, and does not end the process.
        var memory: UnsafeMutableRawPointer?
        guard !overflow, posix_memalign(&memory, Self.alignment, allocated) == 0, let memory else {
            throw EngineError(
                kind: .failure, operation: operation, detail: "there are no \(size) bytes of memory")
        }
        var type = litert_tensor_type(element: elementType.litert, layout: layout)
        var buffer: OpaquePointer?
        let status = library.api.create_tensor_buffer(&type, memory, size, nil, &buffer)
        guard status == 0, let buffer else {
            free(memory)
            throw EngineError(kind: .failure, operation: operation, detail: "LiteRT: \(LiteRTStatus.text(status))")
        }
        self.buffer = buffer
        self.library = library
        self.elementType = elementType
        self.shape = shape
        bytes = UnsafeMutableRawBufferPointer(start: memory, count: size)
    }

    deinit {
        library.api.destroy_tensor_buffer(buffer)
        free(bytes.baseAddress)
    }
}

extension litert_layout {
    /// The layout of a shape; nil for one with open or very large extents, or too many axes.
    init?(_ shape: Shape) {
        let extents = shape.dimensions.compactMap { $0 >= 0 ? Int32(exactly: $0) : nil }
        guard extents.count == shape.dimensions.count, extents.count <= Int(litert_maximum_rank) else { return nil }
        self.init()
        rank = UInt32(extents.count)
        withUnsafeMutableBytes(of: &self.extents) { raw in
            extents.withUnsafeBytes { raw.copyMemory(from: $0) }
        }
    }

    /// The shape.
    var shape: Shape {
        let count = min(Int(rank & 0x7F), Int(litert_maximum_rank))
        return withUnsafeBytes(of: extents) { raw in
            Shape(raw.bindMemory(to: Int32.self).prefix(count).map { Int($0) })
        }
    }
}
