internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import Repository
internal import ServiceCore
internal import ServicePlanning
internal import Settings
internal import Tasks
internal import Teaching
internal import WireFormats

/// The row of the table of routes for updates of models, with its decision when a request's head has arrived.
extension Service {
    static let modelUpdate = Table.Resource(
        ["/v1/models/{name}/update"], .post(.teach, "update_model", update))

    private static func update(_ call: Call) throws(ServiceError) -> BodyAdmission {
        let service = call.service, settings = call.live.settings
        let taught = try service.taughtModels()
        try refuseTaught(call)
        var asked = UpdateQuery()
        try asked.read(call.head.target, settings: settings)
        let query = asked
        do throws(InferenceError) {
            _ = try service.repository.updateSource(of: call.match.name)
        } catch {
            throw ServiceError(error)
        }
        // Check now, before the client sends a body in vain.
        try service.updates.check()
        let handler = UpdateHandler(
            repository: service.repository,
            room: taught.store.room(forVersions: settings.taughtKeepVersions), work: service.work, claim: call.claim,
            log: { taught.log.info($0) })
        return service.accept(call) { (request) async throws(ServiceError) in
            try service.updates.enter()
            defer { service.updates.leave() }
            return try await handler.respond(
                call.match.name, request, query.picture.options(of: request, settings: settings))
        }
    }
}

extension TaughtStore {
    /// The room for updates of models: the part of the folder's limit that taught models leave.
    fileprivate func room(forVersions versions: Int) -> ModelRepository.UpdateRoom {
        ModelRepository.UpdateRoom(
            versions: versions,
            take: { [self] bytes in
                do throws(TeachingError) {
                    try take(bytes)
                    return nil
                } catch {
                    return .full(error.message)
                }
            },
            give: { [self] bytes in count(-bytes) })
    }
}
