internal import FlowControl
package import HTTPServer
internal import Inference
internal import Repository
internal import ServiceCore
internal import Teaching
package import WireFormats

extension Call {
    /// The interface of the model in the path; loads the model if that is necessary and allowed.
    /// - Throws: 404 for an unknown model, 503 for one that cannot be loaded.
    package func modelInterface(_ request: HTTPRequest) async throws(ServiceError) -> ModelInterface {
        let name = path.name
        if let taught = parts.taught, taught.owns(name) {
            let view = try taught.find(name).view
            return ModelInterface(
                taught: name, version: view.state.serving == 0 ? "" : String(view.state.serving),
                labels: view.head?.labels ?? [], embedder: taught.readyEmbedder(view.state.embedder))
        }
        do throws(InferenceError) {
            let model = try await parts.repository.model(named: name, deadline: deadline(of: request))
            return ModelInterface(model, name: name)
        } catch {
            throw ServiceError(error)
        }
    }
}
