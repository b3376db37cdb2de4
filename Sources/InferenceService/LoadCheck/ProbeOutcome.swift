package import Inference

/// The outcome of runs on noise in a process of its own.
package enum ProbeOutcome: Sendable {
    case seen(OutputProbe)
    /// The reason why there is nothing to be seen.
    case impossible(String)
}
