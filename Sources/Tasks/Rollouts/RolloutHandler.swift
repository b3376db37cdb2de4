package import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
package import Repository
package import Rollout
internal import ServiceCore
package import Settings
internal import SystemSupport
package import WireFormats

/// Answers `/v1/models/{name}/rollout`: the plan, and its state and results.
package struct RolloutHandler: Sendable {
    package let repository: ModelRepository
    package let settings: Settings

    package init(repository: ModelRepository, settings: Settings) {
        self.repository = repository
        self.settings = settings
    }

    /// The maximum size of a body, in bytes: a plan has at most a hundred labels.
    private static let largest = 1 << 20

    package func answer(_ name: String) throws(ServiceError) -> HTTPResponse {
        let status: ModelRepository.RolloutStatus
        do throws(InferenceError) {
            status = try repository.rolloutStatus(of: name)
        } catch {
            throw ServiceError(error)
        }
        return HTTPResponse(
            status: .ok, fields: [("Content-Type", "application/json")], body: RolloutAnswer.json(status))
    }

    /// - Parameter plan: the result of ``plan(_:)``.
    package func set(_ name: String, _ plan: RolloutPlan, _ request: HTTPRequest) async throws(ServiceError)
        -> HTTPResponse
    {
        do throws(RolloutRefusal) {
            try await repository.setRollout(of: name, plan, deadline: request.deadline(nil, settings: settings))
        } catch {
            throw ServiceError(error)
        }
        return try answer(name)
    }

    package func delete(_ name: String) async throws(ServiceError) -> HTTPResponse {
        do throws(RolloutRefusal) {
            try await repository.deleteRollout(of: name)
        } catch {
            throw ServiceError(error)
        }
        return try answer(name)
    }

    /// Parses the plan in a request's body.
    package func plan(_ request: HTTPRequest) throws(ServiceError) -> RolloutPlan {
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
