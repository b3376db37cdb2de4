internal import FoundationEssentials
internal import Synchronization

/// Loads models in a separate process before they are loaded into this one.
///
/// Engines read files of many formats in C++, and some damaged files make them crash, run forever, or
/// use all memory. Therefore a model that has not been loaded here before is first loaded where this does
/// no harm. For files that passed, the result is cached until they change.
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
        /// It could not be tried; with the reason.
        case impossible(String)
    }

    /// The findings of the load check that a load should know of.
    struct Report {
        var compiledAnew = false
        var engineComparison: UInt64 = 0
        var problem: String?
        /// True if the model was loaded elsewhere; false if that could not be tried.
        var wasTried: Bool { problem == nil }
    }

    private let known: KnownModels
    private let attempt: @Sendable (String) -> Outcome

    /// A load check.
    /// - Parameters:
    ///   - file: where the models that passed are remembered over restarts; nil remembers them in this process only.
    ///   - circumstances: what a load check's outcome depends on beside the files: versions, devices. Others need
    ///     another load check.
    ///   - attempt: loads what is at a path, elsewhere; may block for as long as that takes.
    public init(remembering file: String?, circumstances: String, attempt: @escaping @Sendable (String) -> Outcome) {
        known = KnownModels(file: file, circumstances: circumstances)
        self.attempt = attempt
    }

    /// True if a bundle or model file went through a load check before. Blocks.
    func knows(_ path: String, stamp: BundleStamp) -> Bool { known.contains(path, identity: stamp.identity) }

    /// Tries a bundle or model file if it is not known. Blocks.
    /// - Returns: nil if nothing had to be done.
    func run(_ path: String, name: String, stamp: BundleStamp) throws(InferenceError) -> Report? {
        let identity = stamp.identity
        if known.contains(path, identity: identity) { return nil }
        switch attempt(path) {
        case .good(let compiledAnew, let engineComparison):
            known.insert(path, identity: identity)
            return Report(compiledAnew: compiledAnew, engineComparison: engineComparison)
        case .refused(let problems):
            throw .invalidBundle(name: name, problems: problems)
        case .lost(let reason):
            throw .invalidBundle(name: name, problems: [BundleProblem(path: "", reason: reason)])
        case .impossible(let reason):
            // Not the model's fault: to refuse it would make every model unavailable where processes cannot be started.
            return Report(problem: reason)
        }
    }
}

extension LoadCheck: Equatable {
    /// Trials of the same circumstances are one: a model that went through one need not be loaded again for the other.
    public static func == (a: LoadCheck, b: LoadCheck) -> Bool { a.known.circumstances == b.known.circumstances }
}
