internal import Inference
internal import Repository
internal import ServiceCore
package import Tasks
package import WireFormats

/// The kind of result that a route of DeepStack or CodeProject.AI gives. It selects the model if the path names none.
package enum DeepStackTarget: Sendable {
    case objects, faces, scene

    /// A request for results of the kind.
    package func prediction(_ call: Call) throws(ServiceError) -> PredictionCall {
        let query = DeepStackQuery(target: self)
        return switch self {
        case .objects, .faces: try PredictionRunner<DeepStackDetectTask>(call, query).prediction
        case .scene: try PredictionRunner<DeepStackSceneTask>(call, query).prediction
        }
    }
}

/// The parameters of DeepStack's and CodeProject.AI's requests, from the query or from text parts of the form.
struct DeepStackQuery: TaskQuery {
    let target: DeepStackTarget
    var picture = PictureQuery()
    /// The lowest confidence of a returned result.
    var minimum: Float = 0.4
    var ownNames: [String] { ["min_confidence"] }

    mutating func take(_ parameter: RequestParameter) throws(ServiceError) -> Bool {
        guard parameter.name == "min_confidence" else { return false }
        minimum = try parameter.share()
        return true
    }

    /// The model for a path without one.
    var unnamed: UnnamedModel {
        switch target {
        case .objects: .usual(.task(.detect))
        case .scene: .usual(.classification)
        case .faces:
            .first(
                ["face", "deepstack_face"], .task(.detect),
                absence:
                    "no model finds faces: this route uses the model named \"face\" or \"deepstack_face\"; /v1/models lists the models"
            )
        }
    }

    /// The forms of all answers.
    static var forms: AnswerForms {
        var forms = AnswerForms()
        forms.onlyOne = "this route answers one at a time"
        return forms
    }
}
