package import FlowControl
internal import ImagePipeline

extension InferenceError {
    /// The error of a prediction for an engine's error: the client's mistake, a cancellation or deadline, or a failure
    /// of the engine.
    package init(ofRun error: EngineError) {
        self =
            switch error.kind {
            case .cancelled: .stopped(at: .inference)
            case .invalidInput: .invalidInput(name: error.operation, reason: error.detail)
            default: .engine(error)
            }
    }

    /// The error of a prediction for the reason that it got no slot or no infer request.
    package init(ofQueue error: AdmissionError) {
        self = if case .cancelled = error { .cancelled(stage: .queue) } else { .refused(error) }
    }

    /// The error of a stage that stopped because `isCancelled` was true: a cancellation of the task, or the deadline.
    package static func stopped(at stage: Stage) -> InferenceError {
        Task.isCancelled ? .cancelled(stage: stage) : .deadlineExceeded(stage: stage)
    }

    /// True if a decoder stopped because it was cancelled.
    package var isStoppedDecoding: Bool { if case .image(.cancelled, _) = self { true } else { false } }
}
