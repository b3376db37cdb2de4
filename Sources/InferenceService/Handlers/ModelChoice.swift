internal import Inference
internal import SystemSupport

/// The model that a request runs, as it was chosen when the request's head came.
struct ModelChoice: Sendable {
    /// The name that it is served under.
    let name: String
    /// Nil for the highest.
    let version: String?
    /// The model, where it was ready then. Weak: a client that sends its body slowly does not keep a model in memory that a reload
    /// has replaced or that was unloaded.
    weak let ready: Model?

    /// The model of then, or the one that has its name now; waits for one that is being loaded.
    /// - Parameter deadline: until when.
    func model(in repository: ModelRepository, deadline: MonotonicInstant?) async throws(ServiceError) -> Model {
        if let ready { return ready }
        do throws(InferenceError) {
            return try await repository.model(named: name, version: version, deadline: deadline)
        } catch {
            throw ServiceError(error)
        }
    }
}
