internal import SystemSupport

/// A model compiled again, for one prediction at a time with more threads.
struct SingleStreamVariant: Sendable {
    let compiled: any CompiledModel
    /// One infer request.
    let requests: RequestPool
    /// The number of the engine's worker threads.
    let threads: Int
    /// The part of the memory for decoding that it may take for sizes of inputs.
    private let shapeMemory: DecodeBudget.Reservation

    /// The data that a variant is compiled from.
    struct Recipe: Sendable {
        let engine: any Engine
        let source: ModelSource
        let stamp: BundleStamp
        let options: CompileOptions
        /// The number of threads of every other prediction.
        let threadsPerStream: Int

        /// Nil if the policy allows no variant, or every prediction already has as many threads.
        init?(
            _ policy: SingleStreamPolicy, source: ModelSource, stamp: BundleStamp, engine: any Engine,
            options: CompileOptions,
            execution: ExecutionProperties
        ) {
            guard let requestedThreads = policy.threads, let threads = execution.threads,
                let streams = execution.streams,
                streams > 0
            else { return nil }
            threadsPerStream = (threads + streams - 1) / streams
            guard requestedThreads > threadsPerStream else { return nil }
            self.engine = engine
            self.source = source
            self.stamp = stamp
            var options = options
            options.hint = .latency
            options.threads = requestedThreads
            options.streams = 1
            // The model itself checks shapes.
            options.keepsModel = false
            self.options = options
        }
    }

    /// Reads and compiles the model again. Blocks.
    init(_ recipe: Recipe) throws(EngineError) {
        compiled = try recipe.engine.read(recipe.source).compile(recipe.options)
        func failure(_ reason: String) -> EngineError {
            EngineError(kind: .failure, operation: "compile the model for single-stream requests", detail: reason)
        }
        guard recipe.stamp.isCurrent else { throw failure("its files have changed since it was loaded") }
        threads = compiled.execution.threads ?? 0
        guard threads > recipe.threadsPerStream else {
            throw failure("the engine has \(threads) threads for it, as for every other request")
        }
        shapeMemory = DecodeBudget.shared.reservation(compiled.shapeMemory)
        requests = try RequestPool(compiled, count: 1, waiters: 1, singleStreamThreads: threads)
    }
}

/// A report on a model's variant for single-stream predictions.
public struct SingleStreamReport: Sendable, Hashable {
    /// The state of the variant, which is compiled only when single-stream predictions occur.
    public enum State: Sendable, Hashable {
        case notCompiled
        case compiling
        case ready
        case failed(reason: String)

        /// The state as a word in JSON answers.
        package var name: String {
            switch self {
            case .notCompiled: "not_compiled"
            case .compiling: "compiling"
            case .ready: "ready"
            case .failed: "failed"
            }
        }
    }

    /// The state.
    public var state = State.notCompiled
    /// The number of the engine's worker threads.
    public var threads = 0
    /// Nanoseconds for reading, compiling and warming up.
    public var load: UInt64 = 0
    /// True if it was read from the cache of compiled models.
    public var isCached = false
    /// Bytes by which the process grew during the load, including memory of other work. Nil if unknown.
    public var residentBytes: Int?
    /// The number of predictions that it has run.
    public var predictions: UInt64 = 0
}
