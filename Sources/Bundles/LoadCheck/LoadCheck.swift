public import EngineAPI
internal import FoundationEssentials
internal import Synchronization

/// Loads models in a separate process before they are loaded into this one.
///
/// Engines read files of many formats in C++, and some damaged files make them crash, run forever, or use all memory.
/// Therefore a model that has not been loaded here before is first loaded in a process that can fail without harm. For
/// files that passed, the result is cached until they change.
public final class LoadCheck: Sendable {
    /// The outcome of a load check.
    public enum Outcome: Sendable {
        /// The model was loaded and has run.
        /// - Parameters:
        ///   - compiledAnew: whether it was compiled, rather than found in the cache.
        ///   - engineComparison: the nanoseconds that the comparison of two engines took.
        case good(compiledAnew: Bool, engineComparison: UInt64 = 0)
        /// The bundle or its file cannot be served.
        case refused([BundleProblem])
        /// The process ended without an outcome; with the way it ended.
        case lost(String)
        /// The check was not possible; with the reason.
        case impossible(String)
    }

    /// The results of the load check that a load uses.
    package struct Report {
        package var compiledAnew = false
        package var engineComparison: UInt64 = 0
        package var problem: String?
        /// True if the model was loaded in a separate process; false if that was not possible.
        package var wasTried: Bool { problem == nil }
    }

    private let known: KnownModels
    private let attempt: @Sendable (String) -> Outcome

    /// A load check.
    /// - Parameters:
    ///   - file: the file that stores the models that passed across restarts; nil stores them in this process only.
    ///   - circumstances: the data, in addition to the files, that the outcome depends on: versions, devices. If it
    ///     changes, models are checked again.
    ///   - attempt: loads the model at a path in another process; may block during that time.
    public init(remembering file: String?, circumstances: String, attempt: @escaping @Sendable (String) -> Outcome) {
        known = KnownModels(file: file, circumstances: circumstances)
        self.attempt = attempt
    }

    /// True if a bundle or model file has passed the load check before. Blocks.
    package func knows(_ path: String, stamp: BundleStamp) -> Bool { known.contains(path, identity: stamp.identity) }

    /// Checks a bundle or model file unless it is known. Blocks.
    /// - Parameter again: checks it although it is known.
    /// - Returns: nil if no check was necessary.
    package func run(
        _ path: String, name: String, stamp: BundleStamp, again: Bool = false
    ) throws(InferenceError) -> Report? {
        let identity = stamp.identity
        if !again, known.contains(path, identity: identity) { return nil }
        switch attempt(path) {
        case .good(let compiledAnew, let engineComparison):
            known.insert(path, identity: identity)
            return Report(compiledAnew: compiledAnew, engineComparison: engineComparison)
        case .refused(let problems):
            throw .invalidBundle(name: name, problems: problems)
        case .lost(let reason):
            throw .invalidBundle(name: name, problems: [BundleProblem(path: "", reason: reason)])
        case .impossible(let reason):
            // Not the model's fault: refusing it would make every model unavailable on machines where processes cannot
            // be started.
            return Report(problem: reason)
        }
    }
}

extension LoadCheck: Equatable {
    /// Load checks with the same circumstances are equal: a model that has passed one need not be checked again by the
    /// other.
    public static func == (a: LoadCheck, b: LoadCheck) -> Bool { a.known.circumstances == b.known.circumstances }
}
