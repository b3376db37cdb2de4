internal import SystemSupport

extension InferRequest {
    /// Starts the inference and waits for the engine's callback. A cancellation or the deadline asks the engine to
    /// stop, but the call still waits: neither the request nor its slot may be used until the engine has finished.
    func run(deadline: MonotonicInstant? = nil) async throws(EngineError) {
        let timer = deadline.map { DeadlineTimer.shared.schedule(at: $0) { self.cancel() } }
        defer { if let timer { DeadlineTimer.shared.remove(timer) } }
        let failure: EngineError? = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                do throws(EngineError) {
                    try start { continuation.resume(returning: nil) }
                } catch {
                    continuation.resume(returning: error)
                    return
                }
                // A cancellation before the start had no effect: repeat it.
                if Task.isCancelled { self.cancel() }
            }
        } onCancel: {
            self.cancel()
        }
        if let failure { throw failure }
        try finish()
    }

    /// Runs the model on arbitrary values. An invalid-input error is ignored: it shows that the model runs.
    func runAnything() async throws(EngineError) {
        do throws(EngineError) {
            try await run()
        } catch {
            if error.kind != .invalidInput { throw error }
        }
    }
}
