internal import Inference
internal import Repository
internal import SystemSupport
internal import Tasks
internal import Teaching
internal import WireFormats

/// The pipeline that finds faces, and its stage with the taught model that knows their names.
struct FacePipeline: Sendable {
    /// The name of the pipeline.
    static let name = "face"
    /// The message if no model has this name.
    static let absence =
        "no pipeline recognizes faces: these routes use the pipeline named \"face\", with a stage that names a taught model "
        + "(docs/clients.md); /v1/models lists the models"

    let model: Model
    let stage: Pipeline.Stage

    /// Throws 400 if the model is not such a pipeline.
    init(_ model: Model) throws(ServiceError) {
        guard let stage = model.pipeline?.stages.first(where: { $0.model == nil }) else {
            throw .invalidInput(
                "model \"\(Self.name)\" is not a pipeline with a stage that names a taught model (\"task\": \"classify\"), "
                    + "which knows the faces: \(model.abilities)")
        }
        self.model = model
        self.stage = stage
    }

    /// The pipeline once it is loaded.
    static func loaded(_ call: Call, deadline: MonotonicInstant?) async throws(ServiceError) -> FacePipeline {
        let model: Model
        do throws(InferenceError) {
            model = try await call.parts.repository.model(named: name, deadline: deadline)
        } catch .modelNotFound {
            throw ServiceError(.modelNotFound, absence)
        } catch {
            throw ServiceError(error)
        }
        return try FacePipeline(model)
    }

    /// The taught model. Throws 404 if it does not exist.
    func taughtModel(in taught: TaughtModels) throws(ServiceError) -> TaughtModel {
        let name = stage.description.model
        guard taught.owns(name) else { throw Self.missing(name) }
        return try taught.find(name)
    }

    /// The error 404 for a taught model that does not exist.
    static func missing(_ name: String) -> ServiceError {
        ServiceError(
            .notFound,
            "there is no taught model \"\(name)\", which the pipeline \"\(Self.name)\" names: create it with PUT "
                + "/v1/taught/\(name) {\"embedder\": \"...\"}")
    }
}
