internal import Inference
internal import InferenceService

/// The model that a command runs in this process.
enum LocalModel {
    /// Loads the model of a name, or without one the first that fits.
    /// - Parameter what: what is looked for, for the error.
    static func load(
        _ wanted: String, plan: ServicePlan, what: String, where fits: (Model) -> Bool
    ) async throws -> (String, Model) {
        let repository = ModelRepository(
            folders: plan.folders, named: plan.named, configuration: plan.modelConfiguration, defaultPolicy: .lazy)
        do throws(RepositoryError) {
            try repository.discover()
        } catch {
            throw StartupError(error.message)
        }
        do throws(InferenceError) {
            if !wanted.isEmpty { return (wanted, try await repository.model(named: wanted)) }
            // Only the one that fits is loaded, where there is only one model.
            var firstFailure: InferenceError?
            for name in repository.names {
                do throws(InferenceError) {
                    let model = try await repository.model(named: name)
                    // A pipeline is asked by its name, as it is by requests.
                    if model.pipeline == nil, fits(model) { return (name, model) }
                } catch {
                    firstFailure = firstFailure ?? error
                }
            }
            if let firstFailure { throw firstFailure }
        } catch {
            throw StartupError(error.message)
        }
        throw StartupError("no \(what) in \(plan.places): give one with --models DIR")
    }
}
