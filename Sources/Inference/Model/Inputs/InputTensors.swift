internal import SystemSupport

/// The input tensors of one prediction, one per input in the plan's order.
struct InputTensors: Sendable {
    var tensors: [any EngineTensor]
}

/// Input tensors for reuse: allocating them for every prediction would cost page faults.
///
/// Only tensors of fixed shape are pooled. As many are kept as predictions may be in flight.
final class InputTensorPool: Sendable {
    private let compiled: any CompiledModel
    private let plans: [InputPlan]
    private let idle = Guarded<[InputTensors]>([])
    private let capacity: Int
    private let isPooled: Bool

    init(compiled: any CompiledModel, plans: [InputPlan], capacity: Int) {
        self.compiled = compiled
        self.plans = plans
        self.capacity = capacity
        isPooled = plans.allSatisfy { $0.description.shape.isStatic }
    }

    /// Tensors for one prediction. `shapes` says the extents of inputs whose shape is dynamic.
    func take(shapes: [Int: Shape] = [:]) throws(EngineError) -> InputTensors {
        if isPooled, let tensors = idle.withLock({ $0.popLast() }) { return tensors }
        var tensors: [any EngineTensor] = []
        tensors.reserveCapacity(plans.count)
        for (position, plan) in plans.enumerated() {
            tensors.append(
                try compiled.makeTensor(
                    elementType: plan.description.elementType, shape: shapes[position] ?? plan.description.shape))
        }
        return InputTensors(tensors: tensors)
    }

    /// Releases the tensors that are kept for the next predictions.
    func releaseAll() {
        let released = idle.withLock { idle in
            defer { idle = [] }
            return idle
        }
        withExtendedLifetime(released) {}
    }

    /// Gives tensors back that no request uses any more.
    func giveBack(_ tensors: InputTensors) {
        guard isPooled else { return }
        idle.withLock { if $0.count < capacity { $0.append(tensors) } }
    }
}
