/// One output in the engine's own memory. Valid only during the call that receives it.
package struct TensorView {
    /// The output's index in the bundle's order.
    package let index: Int
    /// The shape of the output in this inference.
    package let shape: Shape
    /// Its elements, row-major, in the machine's byte order.
    package let bytes: UnsafeRawBufferPointer

    /// An output in the caller's memory.
    package init(index: Int, shape: Shape, bytes: UnsafeRawBufferPointer) {
        self.index = index
        self.shape = shape
        self.bytes = bytes
    }
}
