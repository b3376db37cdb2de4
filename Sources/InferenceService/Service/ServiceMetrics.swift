internal import Inference

/// What the service counts. Filled in with the operations work; the calls stand where they belong.
final class ServiceMetrics: Sendable {
    init() {}

    /// The stages of one classified picture, in nanoseconds.
    func record(_ times: StageTimes, recv: UInt64, encode: UInt64, model: String) {}

    /// A prediction that was stopped.
    func cancelled(_ stage: InferenceError.Stage) {}
}
