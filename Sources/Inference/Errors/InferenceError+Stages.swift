internal import FlowControl
internal import ImagePipeline

extension InferenceError {
    /// An engine's error during a prediction: the client's mistake, the end of its patience, or the engine's failure.
    init(ofRun error: EngineError) {
        self =
            switch error.kind {
            case .cancelled: .stopped(at: .inference)
            case .invalidInput: .invalidInput(name: error.operation, reason: error.detail)
            default: .engine(error)
            }
    }

    /// The reason why there was no slot or no infer request.
    init(ofQueue error: AdmissionError) {
        self = if case .cancelled = error { .cancelled(stage: .queue) } else { .refused(error) }
    }

    /// The error of a stage that stopped because `isCancelled` was true: by the task's end, or the deadline.
    package static func stopped(at stage: Stage) -> InferenceError {
        Task.isCancelled ? .cancelled(stage: stage) : .deadlineExceeded(stage: stage)
    }

    /// True if a decoder stopped because it was asked to.
    var isStoppedDecoding: Bool { if case .image(.cancelled, _) = self { true } else { false } }
}
