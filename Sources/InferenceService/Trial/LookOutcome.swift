package import Inference

/// The outcome of runs on noise in a process of its own.
package enum LookOutcome: Sendable {
    case seen(OutputLook)
    /// Why there is nothing to be seen.
    case impossible(String)
}
