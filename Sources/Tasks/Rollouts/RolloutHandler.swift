package import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Repository
internal import Rollout
internal import ServiceCore
internal import Settings
internal import SystemSupport
package import WireFormats

/// Answers `/v1/models/{name}/rollout`: the plan, and its state and results.
package struct RolloutHandler: CallHandler {
    private let call: Call
    private var name: String { call.path.name }
    private var repository: ModelRepository { call.parts.repository }

    package init(_ call: Call) throws(ServiceError) {
        try call.refuseTaught()
        self.call = call
    }

    /// The maximum size of a body, in bytes: a plan has at most a hundred labels.
    private static let largest = 1 << 20

    package func describe(_: HTTPRequest) throws(ServiceError) -> HTTPResponse { try answer() }

    private func answer() throws(ServiceError) -> HTTPResponse {
        let status: ModelRepository.RolloutStatus
        do throws(InferenceError) {
            status = try repository.rolloutStatus(of: name)
        } catch {
            throw ServiceError(error)
        }
        return HTTPResponse(
            status: .ok, fields: [("Content-Type", "application/json")], body: RolloutAnswer.json(status))
    }

    package func set(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let plan = try await call.read(request) { () throws(ServiceError) in try self.plan(request) }
        do throws(RolloutRefusal) {
            try await repository.setRollout(
                of: name, plan, deadline: call.deadline(of: request))
        } catch {
            throw ServiceError(error)
        }
        return try answer()
    }

    package func delete(_: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        do throws(RolloutRefusal) {
            try await repository.deleteRollout(of: name)
        } catch {
            throw ServiceError(error)
        }
        return try answer()
    }

    /// Parses the plan in a request's body.
    private func plan(_ request: HTTPRequest) throws(ServiceError) -> RolloutPlan {
        guard request.body.count <= Self.largest else {
            throw .badRequest("the body has \(request.body.count) bytes: expected a rollout of at most \(Self.largest)")
        }
        let tree: JSONTree
        do throws(JSONTextError) {
            tree = try JSONTree.read(request.body.withUnsafeBytes { [UInt8]($0) }, .json)
        } catch {
            throw .badRequest("the body is not JSON: \(error.reason)")
        }
        do throws(RolloutPlan.Problem) {
            return try RolloutPlan(tree.value)
        } catch {
            throw .badRequest("the rollout cannot be used: \(error.message)")
        }
    }
}
