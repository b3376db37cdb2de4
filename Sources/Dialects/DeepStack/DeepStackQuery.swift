internal import Inference
internal import Repository
internal import ServiceCore
internal import Settings
internal import Tasks
internal import WireFormats

/// The parameters of DeepStack's and CodeProject.AI's requests, from the query or from text parts of the form.
package struct DeepStackQuery: TaskQuery {
    /// The kind of result. It selects the model if the path names none.
    package enum Target: Sendable {
        case objects, faces, scene
    }

    let target: Target
    var picture = PictureQuery()
    /// The lowest confidence of a returned result.
    var minimum: Float = 0.4
    var ownNames: [String] { ["min_confidence"] }

    package init(_ target: Target) { self.target = target }

    mutating func take(_ parameter: RequestParameter) throws(ServiceError) -> Bool {
        guard parameter.name == "min_confidence" else { return false }
        minimum = try parameter.share()
        return true
    }

    /// The model names that the route for faces tries, in this order.
    private static let faceModels = ["face", "deepstack_face"]

    /// The name of the model for a path without one.
    func defaultName(in repository: ModelRepository, _ settings: Settings) throws(ServiceError) -> String {
        switch target {
        case .objects: return try repository.defaultName(for: .task(.detect), settings)
        case .scene: return try repository.defaultName(settings)
        case .faces:
            let names = repository.names
            guard let name = Self.faceModels.first(where: names.contains) else {
                throw ServiceError(
                    .modelNotFound,
                    "no model finds faces: this route uses the model named \"face\" or \"deepstack_face\"; /v1/models lists the models"
                )
            }
            return name
        }
    }
}
