internal import SystemSupport

/// The input tensors of one prediction, in the order of the plan's inputs.
struct InputTensors: Sendable {
    var tensors: [any EngineTensor]
}

/// A pool of input tensors: allocating them for every prediction would cost page faults.
///
/// Only tensors of fixed shape are pooled. The pool keeps as many as predictions may be in flight.
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

    /// Takes tensors for one prediction. `shapes` gives the shapes of inputs with a dynamic shape, by position.
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

    /// Releases the tensors that the pool keeps.
    func releaseAll() {
        let released = idle.withLock { idle in
            defer { idle = [] }
            return idle
        }
        withExtendedLifetime(released) {}
    }

    /// Returns tensors that no request uses any more.
    func giveBack(_ tensors: InputTensors) {
        guard isPooled else { return }
        idle.withLock { if $0.count < capacity { $0.append(tensors) } }
    }
}
