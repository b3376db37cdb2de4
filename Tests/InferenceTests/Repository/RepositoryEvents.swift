import Foundation
import Inference
internal import Repository
import Synchronization

/// The events of a repository, as text.
final class RepositoryEvents: Sendable {
    let list = Mutex<[String]>([])
    func add(_ event: ModelRepository.Event) {
        let text =
            switch event {
            case .loaded(let name, let version, _): "loaded \(name) \(version)"
            case .rollout(let name, let state, _): "rollout \(name) \(state)"
            case .singleStreamVariant(let name, let version, _): "single-stream variant \(name) \(version)"
            case .failed(let name, let version, _, _): "failed \(name) \(version)"
            case .advice(let name, let version, let text): "advice \(name) \(version): \(text)"
            case .unchanged(let name, let version): "unchanged \(name) \(version)"
            case .keptUnreadable(let name, let version, _): "left as it is \(name) \(version)"
            case .manuallyUnloaded(let name, let version): "held back \(name) \(version)"
            case .incompleteBundle(let name, _): "left alone \(name)"
            case .unloaded(let name, let version, _): "unloaded \(name) \(version)"
            }
        list.withLock { $0.append(text) }
        switch event {
        case .failed(_, _, let reason, _), .incompleteBundle(_, let reason), .keptUnreadable(_, _, let reason):
            reasons.withLock { $0.append(reason) }
        case .unloaded(_, _, let why): unloads.withLock { $0.append(why) }
        default: break
        }
    }
    /// The reported reasons, one for each failure or model that stays unchanged.
    let reasons = Mutex<[String]>([])
    /// The reasons for unloads.
    let unloads = Mutex<[String]>([])
    var all: [String] { list.withLock { $0 } }
}

/// Bundles for engines that a test controls, and repositories of these.
enum Bundles {
    /// A repository of the bundles in a folder, after discovery, and its events.
    static func repository(
        _ folder: TemporaryFolder, engine: FakeEngine = FakeEngine(), policy: LoadPolicy = .eager,
        idle: Duration = .zero
    ) throws -> (ModelRepository, RepositoryEvents) {
        var configuration = ModelConfiguration()
        configuration.engine = engine
        configuration.idleUnload = idle
        let events = RepositoryEvents()
        let repository = ModelRepository(
            folders: [folder.url.path], configuration: configuration, defaultPolicy: policy, onEvent: events.add)
        try repository.discover()
        return (repository, events)
    }

    static func manifest(version: String = "1", runtime: String = "{}") -> String {
        """
        { "name": "m", "id": "m", "version": "\(version)", "model": { "file": "m.onnx", "backend": "onnx" },
          "inputs": [ { "name": "x", "type": "array", "shape": [1, 4] } ],
          "outputs": [ { "name": "y", "type": "array", "shape": [1, 4] } ],
          "runtime": \(runtime) }
        """
    }
}
