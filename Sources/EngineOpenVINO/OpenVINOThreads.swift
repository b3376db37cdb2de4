internal import EngineAPI
internal import FlowControl
internal import Synchronization
internal import SystemSupport

/// The reservation of OpenVINO threads for a compiled model.
///
/// OpenVINO never ends its threads: a later model reuses those of a released one. If it can start only some of a new
/// model's threads, it terminates the process (std::terminate). Therefore a model is compiled only if threads of a
/// released one are free, or if all threads that it needs can be started.
final class OpenVINOThreads: Sendable {
    /// Models of one kind can reuse each other's threads.
    private struct Kind: Hashable {
        let device: String
        let hint: PerformanceHint
        let threads: Int?, streams: Int?
    }

    /// For each kind, the present number of models and the maximum so far, which is the number of models that have
    /// threads.
    private static let models = Mutex<[Kind: (now: Int, maximum: Int)]>([:])

    private let kind: Kind
    private static let spare = 5

    /// - Throws: if no threads are available for the model.
    init(for options: CompileOptions) throws(EngineError) {
        let kind = Kind(device: options.device, hint: options.hint, threads: options.threads, streams: options.streams)
        let hasThreads = Self.models.withLock { models in models[kind].map { $0.now < $0.maximum } ?? false }
        // One for each stream, or those that share an inference; one for callbacks; and spare ones, which other code,
        // or the engine during the compilation, may start. If one of these fails, the threads that the engine has
        // started are lost.
        let needed = max(options.streams ?? 1, options.threads ?? 1) + 1 + Self.spare
        guard hasThreads || SystemThread.canStart(needed) else {
            throw EngineError(
                kind: .noThreads, operation: "compile the model for \(options.device)",
                detail: HostResources.threadsUsedUp())
        }
        self.kind = kind
        Self.models.withLock { $0[kind, default: (0, 0)].now += 1 }
    }

    /// Records that the model is compiled and has its threads.
    func started() {
        Self.models.withLock { models in
            if let (now, maximum) = models[kind] { models[kind] = (now, max(now, maximum)) }
        }
    }

    deinit { Self.models.withLock { $0[kind]?.now -= 1 } }
}
