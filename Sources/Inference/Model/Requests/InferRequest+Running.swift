internal import SystemSupport

extension InferRequest {
    /// Starts the inference and waits for the engine's callback; a cancelled task or a deadline asks the engine to
    /// stop, and still waits: neither the request nor its slot may be used before the engine is done with it.
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
                // A cancellation before the start found nothing to stop.
                if Task.isCancelled { self.cancel() }
            }
        } onCancel: {
            self.cancel()
        }
        if let failure { throw failure }
        try finish()
    }

    /// Runs the model on made-up values. That it refuses them as no client may send them shows that it works.
    func runAnything() async throws(EngineError) {
        do throws(EngineError) {
            try await run()
        } catch {
            if error.kind != .invalidInput { throw error }
        }
    }
}
