/// The conditions for compiling a model a second time for single-stream predictions: those that run while no other
/// prediction runs.
///
/// Each prediction uses one stream of the engine, with few threads, so that many run in parallel. A single-stream
/// prediction would leave the other processors idle.
public enum SingleStreamPolicy: Sendable, Hashable {
    /// Single-stream predictions run as all others do.
    case never
    /// This number of threads, for models whose inference takes a millisecond or more (smaller ones gain little), as
    /// long as that is faster: compiled after eight single-stream predictions in a row, released where it was of no use
    /// for ten minutes.
    /// - Parameter mostResident: bytes; a process that has more in memory gets no further variant, which takes about as
    ///   much as its model.
    case automatic(threads: Int, mostResident: Int = .max)
    /// This number of threads, for every model, from the first single-stream prediction on.
    case always(threads: Int)

    /// The policy for a number of threads that was set: with 0 there is no variant.
    package init(threads: Int) { self = threads > 0 ? .always(threads: threads) : .never }

    /// Threads of a single-stream prediction; nil for no variant.
    var threads: Int? {
        switch self {
        case .never: nil
        case .automatic(let threads, _), .always(let threads): threads
        }
    }

    /// The time when the variant is worth its memory.
    var worth: Worth {
        guard case .automatic(_, let mostResident) = self else { return Worth() }
        return Worth(
            inference: 1_000_000, inARow: 8, before: 2, mustWin: true, unused: 600_000_000_000,
            mostResident: mostResident)
    }

    /// The time when a variant is compiled, and when it is released again.
    struct Worth: Sendable {
        /// Nanoseconds of an inference from which on it is compiled.
        var inference: UInt64 = 0
        /// Single-stream predictions that follow each other, none of any other kind between, after which it is
        /// compiled.
        var inARow = 1
        /// Single-stream predictions that must come directly before one that runs on it: with two clients one is often
        /// alone for a moment, and would be in the other's way.
        var before = 0
        /// True if it is used only as long as it is faster.
        var mustWin = false
        /// Nanoseconds in which it was not used after which it is released; nil for never.
        var unused: UInt64?
        /// Bytes that the process may have in memory when it is compiled.
        var mostResident = Int.max
    }
}
