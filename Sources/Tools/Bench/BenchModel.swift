internal import FoundationEssentials
internal import Inference
internal import Repository
internal import ServicePlanning
internal import Settings
internal import SystemSupport

/// The measured model, in a repository from which a server can serve it.
struct BenchModel: Sendable {
    let plan: ServicePlan
    let repository: ModelRepository
    let name: String
    let path: String

    /// Finds the model; loads nothing yet.
    /// - Parameter requestedModel: a bundle's folder, a model file or a name; nil for the first model of the folders.
    init(_ requestedModel: String?, settings: Settings) throws {
        var settings = settings
        // `/v1/classify` then uses this model, and no other is loaded.
        settings.defaultModel = ""
        plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        do throws(RepositoryError) {
            if let requestedModel, FileManager.default.fileExists(atPath: requestedModel) {
                (repository, name) = try ModelAtPath.repository(requestedModel, plan.modelConfiguration, plan)
            } else {
                repository = ModelRepository(
                    folders: plan.folders, named: plan.named, configuration: plan.modelConfiguration,
                    defaultPolicy: .lazy)
                repository.allowTaughtStages()
                try repository.discover()
                name = requestedModel ?? repository.names.first ?? ""
            }
        } catch {
            throw CommandError(error.message)
        }
        do throws(InferenceError) {
            path = try repository.location(of: name)
        } catch {
            throw CommandError("\(error.message) (looked in \(plan.places))")
        }
    }

    /// Loads the model. Throws unless it classifies pictures or has a task for pictures.
    func load() async throws -> Model {
        do throws(InferenceError) {
            let model = try await repository.model(named: name)
            guard model.isImageClassifier || !model.tasks.isEmpty else {
                throw .unsupported(
                    model: name,
                    reason: "cannot be measured with pictures (expected one image input, and an output with "
                        + "labels, or of type boxes, mask, keypoints, embedding or text; or a reader)")
            }
            return model
        } catch {
            throw CommandError(error.message)
        }
    }
}
