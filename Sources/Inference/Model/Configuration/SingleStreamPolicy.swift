/// The conditions for compiling a model a second time for single-stream predictions: those that run while no other
/// prediction runs.
///
/// Each prediction uses one stream of the engine, with few threads, so that many run in parallel. A single prediction
/// would leave the other processors idle.
public enum SingleStreamPolicy: Sendable, Hashable {
    /// Single-stream predictions run like all others.
    case never
    /// Uses this number of threads for models whose inference takes at least a millisecond (smaller ones gain little),
    /// as long as that is faster. The variant is compiled after eight single-stream predictions in a row, and released
    /// after ten minutes without use.
    /// - Parameter maximumResident: bytes of resident memory above which the process compiles no further variant; a
    ///   variant takes about as much memory as its model.
    case automatic(threads: Int, maximumResident: Int = .max)
    /// Uses this number of threads for every model, from the first single-stream prediction on.
    case always(threads: Int)

    /// The policy for a configured number of threads; 0 disables the variant.
    package init(threads: Int) { self = threads > 0 ? .always(threads: threads) : .never }

    /// The number of threads of a single-stream prediction; nil if no variant is used.
    var threads: Int? {
        switch self {
        case .never: nil
        case .automatic(let threads, _), .always(let threads): threads
        }
    }

    /// The conditions under which the variant is worth its memory.
    var conditions: VariantConditions {
        guard case .automatic(_, let maximumResident) = self else { return VariantConditions() }
        return VariantConditions(
            inference: 1_000_000, consecutive: 8, before: 2, mustWin: true, unused: 600_000_000_000,
            maximumResident: maximumResident)
    }

    /// The conditions for compiling and releasing a variant.
    struct VariantConditions: Sendable {
        /// The minimum time of an inference in nanoseconds.
        var inference: UInt64 = 0
        /// The number of consecutive single-stream predictions, without any other between them, after which the variant
        /// is compiled.
        var consecutive = 1
        /// The number of single-stream predictions that must directly precede one that runs on the variant: with two
        /// clients, a request is often the only one for a moment, and would then slow down the next.
        var before = 0
        /// True if the variant is used only as long as it is faster.
        var mustWin = false
        /// Nanoseconds without use after which the variant is released; nil disables the release.
        var unused: UInt64?
        /// The maximum resident memory of the process, in bytes, when the variant is compiled.
        var maximumResident = Int.max
    }
}
