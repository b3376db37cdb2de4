internal import Inference
internal import Repository
internal import ServicePlanning
internal import SystemSupport

/// Loads the model that a command runs in this process.
enum LocalModel {
    /// Loads the model with a name, or the first suitable one if the name is empty.
    /// - Parameter what: the kind of model, for the error message.
    static func load(
        _ requestedName: String, plan: ServicePlan, what: String, where fits: (Model) -> Bool
    ) async throws -> (String, Model) {
        let repository = ModelRepository(
            folders: plan.folders, named: plan.named, configuration: plan.modelConfiguration, defaultPolicy: .lazy)
        do throws(RepositoryError) {
            try repository.discover()
        } catch {
            throw CommandError(error.message)
        }
        do throws(InferenceError) {
            if !requestedName.isEmpty { return (requestedName, try await repository.model(named: requestedName)) }
            // Stop at the first suitable model; later ones are not loaded.
            var firstFailure: InferenceError?
            for name in repository.names {
                do throws(InferenceError) {
                    let model = try await repository.model(named: name)
                    // A pipeline is used only by its name, as for requests.
                    if model.pipeline == nil, fits(model) { return (name, model) }
                } catch {
                    firstFailure = firstFailure ?? error
                }
            }
            if let firstFailure { throw firstFailure }
        } catch {
            throw CommandError(error.message)
        }
        throw CommandError("no \(what) in \(plan.places): give one with --models DIR")
    }
}
