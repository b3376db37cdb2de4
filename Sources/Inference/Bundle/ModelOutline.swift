/// What a model file says of itself before any bundle describes it.
package struct ModelOutline: Sendable {
    /// What it takes and gives, in the file's order.
    package let inputs: [TensorPort], outputs: [TensorPort]

    /// Reads a model file with the built-in engine. Blocks.
    /// - Throws: an engine error that says why it cannot be read.
    package init(path: String) throws(InferenceError) {
        do throws(EngineError) {
            let file = try DefaultEngine.shared().read(ModelSource(path: path))
            inputs = file.inputs
            outputs = file.outputs
        } catch {
            throw .engine(error)
        }
    }
}
