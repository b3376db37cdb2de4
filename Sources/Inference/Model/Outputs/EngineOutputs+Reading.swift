extension EngineOutputs {
    /// Calls `body` with an output's memory; throws the engine's errors and those of `body`.
    func reading<R>(
        _ index: Int,
        _ body: (Shape, UnsafeRawBufferPointer) throws(InferenceError) -> R
    ) throws(InferenceError) -> R {
        let result: Result<R, InferenceError>
        do throws(EngineError) {
            result = try withOutput(index) { shape, raw in
                Result { () throws(InferenceError) in try body(shape, raw) }
            }
        } catch {
            throw .engine(error)
        }
        return try result.get()
    }
}
