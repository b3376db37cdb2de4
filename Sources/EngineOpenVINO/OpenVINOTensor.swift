internal import COpenVINO
internal import EngineAPI

/// Memory of OpenVINO for one tensor, with the engine's preferred alignment.
///
/// Sendable: the handle and the pointer never change; ``EngineTensor`` defines which code may access the memory, and
/// when.
final class OpenVINOTensor: EngineTensor, @unchecked Sendable {
    let handle: OpenVINOHandle
    let elementType: ElementType
    let shape: Shape
    let bytes: UnsafeMutableRawBufferPointer

    init(elementType: ElementType, shape: Shape) throws(EngineError) {
        let size = try elementType.size(of: shape)
        let handle = try OpenVINOHandle.make("create a tensor of shape \(shape)", free: ov_tensor_free) { pointer in
            shape.withOpenVINO { ov_tensor_create(elementType.openVINO, $0, &pointer) }
        }
        var data: UnsafeMutableRawPointer?
        try checked("access a tensor's memory") { ov_tensor_data(handle.pointer, &data) }
        self.handle = handle
        self.elementType = elementType
        self.shape = shape
        bytes = UnsafeMutableRawBufferPointer(start: data, count: data == nil ? 0 : size)
    }
}
