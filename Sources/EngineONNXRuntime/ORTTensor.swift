internal import CONNXRuntime
internal import EngineAPI
internal import Glibc

/// Memory for one tensor of numbers, which ONNX Runtime accesses without copying.
///
/// Sendable: the pointers never change; ``EngineTensor`` defines which code may access the memory, and when.
final class ORTTensor: EngineTensor, @unchecked Sendable {
    let elementType: ElementType
    let shape: Shape
    let bytes: UnsafeMutableRawBufferPointer
    let value: ORTHandle

    init(_ library: ORTLibrary, elementType: ElementType, shape: Shape) throws(EngineError) {
        let size = try elementType.size(of: shape)
        // Before the allocation, because the memory has no owner until the end of this initializer.
        let environment = try library.prepared()
        // Allocated directly, so that insufficient memory causes an error, and does not end the process.
        var memory: UnsafeMutableRawPointer?
        guard posix_memalign(&memory, 64, max(64, size)) == 0, let memory else {
            throw EngineError(
                kind: .failure, operation: "create a tensor of shape \(shape) of \(elementType.rawValue)",
                detail: "there are no \(size) bytes of memory")
        }
        do throws(EngineError) {
            let extents = shape.dimensions.map { Int64($0) }
            let value = try library.make("create a tensor of shape \(shape)") {
                ort_create_tensor_of(
                    library.api, environment.memory, memory, size, extents, extents.count, elementType.ort, &$0)
            }
            self.value = ORTHandle(value) { [api = library.api] in ort_release_value(api, $0) }
        } catch {
            free(memory)
            throw error
        }
        self.elementType = elementType
        self.shape = shape
        bytes = UnsafeMutableRawBufferPointer(start: memory, count: size)
    }

    deinit { free(bytes.baseAddress) }
}
