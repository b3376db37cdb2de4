internal import FoundationEssentials
internal import Inference
internal import Repository
internal import ServicePlanning
internal import SystemSupport

/// Loads the model that a command runs in this process.
enum LocalModel {
    /// Loads the model with a name or at a path, or the first suitable one if the name is empty.
    /// - Parameters:
    ///   - what: the kind of model, for the error message.
    ///   - note: called with a sentence about the version, if the path is a folder of versions.
    static func load(
        _ requested: String, plan: ServicePlan, what: String, note: (String) -> Void, where fits: (Model) -> Bool
    ) async throws -> (String, Model) {
        let (repository, requestedName) = try repository(requested, plan, note: note)
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
        throw CommandError(
            plan.places.isEmpty
                ? "there is no model folder: name one with --models DIR, or a model with --model NAME=PATH"
                : "no \(what) in \(plan.places): name another folder with --models DIR")
    }

    /// The models that are searched, and the name of the requested one; empty for the first suitable one.
    private static func repository(
        _ requested: String, _ plan: ServicePlan, note: (String) -> Void
    ) throws(CommandError) -> (ModelRepository, String) {
        let isThere = FileManager.default.fileExists(atPath: requested), isPath = NamedModel.isPath(requested)
        guard isThere || !isPath else { throw CommandError("\(requested) does not exist") }
        do throws(RepositoryError) {
            if !isPath {
                let repository = ModelRepository(
                    folders: plan.folders, named: plan.named, configuration: plan.modelConfiguration,
                    defaultPolicy: .lazy)
                repository.allowTaughtStages()
                try repository.discover()
                // A folder that is written without a slash is a path only if no model has this name.
                guard isThere, !repository.names.contains(requested) else { return (repository, requested) }
            }
            _ = ModelAtPath.resolved(requested, note: note)
            return try ModelAtPath.repository(requested, plan.modelConfiguration, plan)
        } catch {
            throw CommandError(error.message)
        }
    }
}
