internal import Inference
internal import SystemSupport

/// Loads a model that the command line names by its path.
enum ModelAtPath {
    /// Loads the model.
    /// - Throws: the model's problems.
    static func load(_ path: String, _ configuration: ModelConfiguration) async throws(CommandError) -> Model {
        do throws(InferenceError) {
            return try await Model.load(contentsOf: path, configuration: configuration)
        } catch {
            throw CommandError(error.message)
        }
    }
}
