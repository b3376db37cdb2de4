package import EngineAPI
internal import Engines

/// The metadata of a model file without a bundle.
package struct ModelOutline: Sendable {
    /// Its inputs and outputs, in the order of the file.
    package let inputs: [TensorPort], outputs: [TensorPort]

    /// Reads a model file with the default engine. Blocks.
    /// - Throws: an engine error with the reason it cannot be read.
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
