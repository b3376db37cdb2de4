internal import FlowControl
internal import SystemSupport

extension Model {
    /// Shapes by the index of the input, for shapes by its position.
    func byIndex(_ shapes: [Int: Shape]) -> [Int: Shape] {
        guard !shapes.isEmpty else { return [:] }
        return Dictionary(shapes.map { (plan.inputs[$0].index, $1) }, uniquingKeysWith: { first, _ in first })
    }

    /// Checks shapes that may not match each other, before the engine runs with them.
    /// - Parameter shapes: by the index of the input; empty if all shapes are fixed.
    /// - Returns: the engine's refusal if the runtime of the file's format must run the inputs; otherwise nil.
    /// - Throws: the refusal, as an invalid input, if there is no such runtime.
    func refusal(of shapes: [Int: Shape], deadline: MonotonicInstant?) async throws(InferenceError) -> EngineError? {
        if let known = fallback?.refusal(of: shapes) { return known }
        guard !shapes.isEmpty else { return nil }
        do throws(ShapeChecks.Failure) {
            try await resources.shapeChecks.check(shapes, deadline: deadline)
            return nil
        } catch {
            switch error {
            case .wait(let ending): throw InferenceError(ofQueue: ending)
            case .refused(let reason):
                let error = invalidInput(shapes, reason)
                guard let fallback, fallback.accepts(error, of: shapes) else { throw InferenceError(ofRun: error) }
                return error
            }
        }
    }

    private func invalidInput(_ shapes: [Int: Shape], _ reason: EngineError) -> EngineError {
        let refused = plan.inputs.compactMap { input in shapes[input.index].map { (input.description.name, $0) } }
        let (name, shape) = refused.first ?? ("", [])
        let others = refused.dropFirst().map { " and \"\($0.0)\" of \($0.1)" }.joined()
        return EngineError(
            kind: .invalidInput, operation: name,
            detail: "the model does not take shape \(shape)\(others): \(reason.detail)")
    }
}
