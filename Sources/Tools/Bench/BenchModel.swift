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
        var isPath = false
        if let requestedModel, FileManager.default.fileExists(atPath: requestedModel) {
            isPath = true
            let parent = URL(filePath: requestedModel).resolvingSymlinksInPath().deletingLastPathComponent().path
            settings.models = [parent]
        }
        // `/v1/classify` then uses this model, and no other is loaded.
        settings.defaultModel = ""
        let environment = ProcessInfo.processInfo.environment
        plan = ServicePlan(settings: settings, environment: environment)
        let repository = ModelRepository(
            folders: plan.folders, named: plan.named, configuration: plan.modelConfiguration, defaultPolicy: .lazy)
        do throws(RepositoryError) { try repository.discover() } catch { throw CommandError(error.message) }
        self.repository = repository
        let names = repository.names
        do throws(InferenceError) {
            if let requestedModel, isPath {
                let real = Self.real(requestedModel)
                let isWanted = { (name: String) in (try? repository.location(of: name)).map(Self.real) == real }
                guard let name = names.first(where: isWanted) else {
                    throw .modelNotFound(name: requestedModel, known: names)
                }
                self.name = name
            } else if let requestedModel {
                name = requestedModel
            } else if let first = names.first {
                name = first
            } else {
                throw .modelNotFound(name: "", known: names)
            }
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
                        + "labels, or of type boxes, mask, keypoints or embedding)")
            }
            return model
        } catch {
            throw CommandError(error.message)
        }
    }

    private static func real(_ path: String) -> String { URL(filePath: path).resolvingSymlinksInPath().path }
}
