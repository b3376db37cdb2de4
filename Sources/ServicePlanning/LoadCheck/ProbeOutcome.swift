package import Inference

/// The outcome of runs on noise in a separate process.
package enum ProbeOutcome: Sendable {
    case seen(OutputProbe)
    /// The reason why the model could not be run.
    case impossible(String)
}
