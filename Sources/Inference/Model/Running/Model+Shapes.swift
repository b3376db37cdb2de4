internal import FlowControl
internal import SystemSupport

extension Model {
    /// Refuses shapes that do not match each other as an invalid input, before the engine runs with them.
    func check(_ shapes: [Int: Shape], deadline: MonotonicInstant?) async throws(InferenceError) {
        guard !shapes.isEmpty else { return }
        let byIndex = Dictionary(shapes.map { (plan.inputs[$0].index, $1) }, uniquingKeysWith: { first, _ in first })
        do throws(ShapeChecks.Failure) {
            try await resources.shapeChecks.check(byIndex, deadline: deadline)
        } catch {
            switch error {
            case .wait(.cancelled): throw .cancelled(stage: .queue)
            case .wait(let refusal): throw .refused(refusal)
            case .refused(let reason):
                let (position, shape) = shapes.min { $0.key < $1.key } ?? (0, [])
                let others = shapes.filter { $0.key != position }.sorted { $0.key < $1.key }
                    .map { " and \"\(plan.inputs[$0.key].description.name)\" of \($0.value)" }.joined()
                throw .invalidInput(
                    name: plan.inputs[position].description.name,
                    reason: "the model does not take shape \(shape)\(others): \(reason.detail)")
            }
        }
    }
}
