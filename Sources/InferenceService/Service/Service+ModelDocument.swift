internal import HTTPServer
internal import Inference
internal import ServiceCore
internal import Tasks
internal import WireFormats

extension Service {
    /// Answers the OpenAPI document of one model. It is not computed ahead, because a model's versions change.
    static func modelDocument(_ service: Service, _ call: Call) -> BodyAdmission {
        service.accept(call) { (request) async throws(ServiceError) in
            let model = try await call.modelInterface(request)
            return try await call.computed(request) { () throws(ServiceError) in
                let response = json(try ModelDocument.text(routes.documented, of: model))
                return response.revalidated(by: request, tag: HTTPResponse.entityTag(of: response.body))
            }
        }
    }
}
