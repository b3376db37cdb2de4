/// One output in the engine's own memory. Valid only within the call that it is handed to.
package struct TensorView {
    /// The output's index in the bundle's order.
    package let index: Int
    /// The shape that the engine gave it.
    package let shape: Shape
    /// Its elements, row-major, in the machine's byte order.
    package let bytes: UnsafeRawBufferPointer

    /// An output whose memory the caller keeps.
    package init(index: Int, shape: Shape, bytes: UnsafeRawBufferPointer) {
        self.index = index
        self.shape = shape
        self.bytes = bytes
    }
}
