internal import Inference
internal import InferenceService

/// A model that the command line names by its path.
enum ModelAtPath {
    /// Loads the model.
    /// - Throws: its problems, as what keeps a command from starting.
    static func load(_ path: String, _ configuration: ModelConfiguration) async throws(StartupError) -> Model {
        do throws(InferenceError) {
            return try await Model.load(contentsOf: path, configuration: configuration)
        } catch {
            throw StartupError(error.message)
        }
    }
}
