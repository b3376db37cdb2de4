package import HTTPServer
internal import HTTPWire
internal import JSON
internal import ServiceCore
internal import Settings
package import Tasks
internal import Teaching
package import WireFormats

/// Answers `/v1/vision/face/list` and `/delete`: the names of the known faces, and forgets one.
package struct FaceNamesHandler: CallHandler {
    private let call: Call
    private let taught: TaughtModels
    private let query: FaceQuery

    package init(_ call: Call) throws(ServiceError) {
        taught = try call.taughtModels()
        var query = FaceQuery()
        try query.read(call.head.target, maxDeadline: call.live.settings.maxDeadline)
        self.call = call
        self.query = query
    }

    package func list(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let pipeline = try await FacePipeline.loaded(call, deadline: call.deadline(of: request))
        let view = try pipeline.taughtModel(in: taught).view
        return try await call.computed(request) {
            DeepStackAnswer.success { writer in writer.member("faces", view.classes.map { $0.label }) }
        }
    }

    package func delete(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        var query = query
        try await query.readFields(call, request)
        let person = try query.requiredPerson()
        let pipeline = try await FacePipeline.loaded(call, deadline: call.deadline(of: request))
        let model = try pipeline.taughtModel(in: taught)
        let kept = call.parts.kept
        try await taught.change(model, "a class forgotten", deadline: call.deadline(of: request), claim: call.claim) {
            (model) throws(TeachingError) in
            try kept?.forget(label: person, of: model)
            try model.forget(label: person)
        }
        return DeepStackAnswer.success { _ in }
    }
}
